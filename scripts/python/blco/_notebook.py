"""What a notebook shows: the progress of a run, of which terminals have a line as well, and tables of models."""

from __future__ import annotations

import html
import re
import sys
import warnings
from typing import Any, Sequence

# "decomposing: iteration 3 of 50, fit 0.8, change 1e-3, 6 %, 2 s left"
STATE = re.compile(r"(\w+)\b.*?: (.*?), (\d+) %(.*)")
LAST = re.compile(r"(decomposing): (\d+ iterations?, .*)")


class Bar:
    """One bar for all stages of a run: of tqdm where that is installed, else a line. It ends with the last
    decomposition, and a run without one leaves nothing."""

    def __init__(self) -> None:
        self._bar: Any = None

    def show(self, line: str) -> None:
        """Shows what the program has written on its terminal; warnings and the summary are left to the model."""
        state, last = STATE.fullmatch(line), LAST.fullmatch(line)
        if sys.stderr is None:
            return
        if state:
            self._move(*state.groups())
        elif last:
            self._move(last[1], last[2], "100", "")

    def _move(self, stage: str, about: str, percent: str, left: str) -> None:
        if self._bar is None:
            self._bar = _new_bar(stage)
        self._bar.set_description_str(stage, refresh=False)
        self._bar.n = int(percent)
        self._bar.set_postfix_str(about + left)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
        self._bar = None


def _new_bar(stage: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # tqdm misses widgets, and then writes text
        try:
            from tqdm.auto import tqdm
        except ImportError:
            return _Line()
    return tqdm(total=100, desc=stage, bar_format="{desc}: {percentage:3.0f}%|{bar:20}|{postfix}")


class _Line:
    """What Bar needs of tqdm, as a line that is rewritten on a terminal and in a notebook, and else is written once."""

    def __init__(self) -> None:
        self.n, self._stage, self._text = 0, "", ""
        self._rewrites = "ipykernel" in sys.modules or bool(sys.stderr and sys.stderr.isatty())

    def set_description_str(self, stage: str, refresh: bool) -> None:
        self._stage = stage

    def set_postfix_str(self, about: str) -> None:
        self._text, older = f"{self._stage}: {self.n} %, {about}", self._text
        if self._rewrites:
            print(f"\r{self._text:{len(older)}}", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        print("" if self._rewrites else self._text, file=sys.stderr, flush=True)


def html_table(caption: str, heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A small table. A cell is a text, or a sequence of texts, one below the other."""
    def cell(value: Any) -> str:
        return "<br>".join(html.escape(part) for part in ([value] if isinstance(value, str) else value))

    def row(cells: Sequence[Any], tag: str) -> str:
        style = ' style="text-align: left; vertical-align: top"'
        return "<tr>" + "".join(f"<{tag}{style}>{cell(value)}</{tag}>" for value in cells) + "</tr>"

    body = "".join(row(cells, "td") for cells in rows)
    return f"<table><caption>{html.escape(caption)}</caption><thead>{row(heads, 'th')}</thead><tbody>{body}</tbody></table>"


class Page:
    """A page of HTML, which a notebook shows in a frame."""

    def __init__(self, text: str) -> None:
        self.text = text

    def _repr_html_(self) -> str:
        page = html.escape(self.text, quote=True)
        return f'<iframe srcdoc="{page}" style="width: 100%; height: 40em; border: 1px solid #ccc"></iframe>'

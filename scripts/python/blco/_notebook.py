"""Progress in a notebook: a bar of tqdm for each stage of the program, where tqdm is installed."""

from __future__ import annotations

import re
import sys
import warnings
from typing import Any

# "decomposing: iteration 3 of 50, fit 0.8, change 1e-3, 6 %, 2 s left"
STATE = re.compile(r"(\w+)\b.*?: (.*?), (\d+) %(.*)")


class Bar:
    """Shows what the program writes on its terminal: states as a bar and warnings as text. The summary is left
    out: the model has it."""

    def __init__(self, tqdm: Any) -> None:
        self._tqdm = tqdm
        self._bar: Any = None

    def show(self, text: str) -> None:
        for line in text.replace("\x1b[K", "").splitlines():
            state = STATE.fullmatch(line.strip())
            if state:
                self._move(*state.groups())
            elif line.startswith("warning:"):
                print(line, file=sys.stderr)
            elif self._bar is not None and line.startswith(self._bar.desc):
                self._move(self._bar.desc, line.partition(": ")[2], "100", "")
                self.close()

    def _move(self, stage: str, about: str, percent: str, left: str) -> None:
        if self._bar is None or self._bar.desc != stage:
            self.close()
            self._bar = self._tqdm(total=100, desc=stage, bar_format="{desc}: {percentage:3.0f}%|{bar:20}|{postfix}")
        self._bar.n = int(percent)
        self._bar.set_postfix_str(about + left)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
        self._bar = None


def new_bar() -> Bar | None:
    """A bar, in a notebook that has tqdm."""
    if "ipykernel" not in sys.modules:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # tqdm misses widgets, and then writes text
        try:
            from tqdm.auto import tqdm
        except ImportError:
            return None
    return Bar(tqdm)

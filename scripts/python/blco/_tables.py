"""Tables: DataFrames where there is pandas, and the tables of a record."""

from __future__ import annotations

from typing import Any, Sequence

from ._words import in_python


def table(rows: Sequence[dict[str, Any]], index: str | None = None) -> Any:
    """A DataFrame of rows, whose index is the column `index`; without pandas the list of them."""
    try:
        import pandas
    except ImportError:
        return list(rows)
    frame = pandas.DataFrame(list(rows))
    return frame if index is None or frame.empty else frame.set_index(index)


class Record(dict[str, Any]):
    """What the program says about a run: blco-record(5) describes the members of the dictionary. The properties are
    tables of it, made when they are asked for; a table that the run does not have is empty."""

    @property
    def trace(self) -> Any:
        """A row for each listed iteration: the fit, the held-out error, the seconds since the first one began."""
        trace = self.get("trace", {})
        columns = {name: values for name, values in trace.items() if isinstance(values, list)}
        return table([{"iteration": trace["first_iteration"] + i * trace["every"], **dict(zip(columns, row))}
                      for i, row in enumerate(zip(*columns.values()))], "iteration")

    @property
    def starts(self) -> Any:
        """A row for each start, where there were several."""
        return table(self.get("starts", []), "seed")

    @property
    def findings(self) -> Any:
        """A row for each sentence about the result: kind, severity, sentence, advice."""
        return table([{name: text if text is None else in_python(text) for name, text in finding.items()}
                      for finding in self.get("findings", [])])

    @property
    def stages(self) -> Any:
        """The seconds of each stage."""
        stages = self.get("seconds", {}).get("stages", {})
        return table([{"stage": stage, "seconds": seconds} for stage, seconds in stages.items()], "stage")

    @property
    def operations(self) -> Any:
        """The seconds of MTTKRP and update in each mode."""
        modes = self.get("seconds", {}).get("modes", {})
        return table([{"mode": n, **dict(zip(modes, row))} for n, row in enumerate(zip(*modes.values()), 1)], "mode")

    @property
    def ranks(self) -> Any:
        """A row for each GPU or process that took part, where there were several: what it had and how long it took."""
        return table(self.get("ranks", {}).get("each", []))

    @property
    def ridge_search(self) -> Any:
        """A row for each ridge that was tried, with its held-out error."""
        search = self.get("ridge_search", {})
        return table([dict(zip(search, row)) for row in zip(*search.values())], "ridge")

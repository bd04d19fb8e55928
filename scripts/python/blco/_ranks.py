"""The models of a range of ranks."""

from __future__ import annotations

import json
import os
from typing import Any, Mapping

from . import _files
from ._model import Model, page_of
from ._notebook import Page, html_table
from ._tables import table
from ._words import in_python


class Ranks:
    """The models of a range of ranks, and how they compare.

    table       a row for each rank: fit, held-out error, core consistency, how many starts agree, ...
    suggested   the rank that is suggested, or None
    suggestion  a sentence with the reason
    models      the models, by their rank; one that broke down is missing
    best        the model of the suggested rank, or None
    record      what the table is made of, a dictionary: blco-record(5)
    """

    def __init__(self, record: dict[str, Any], models: Mapping[int, Model]) -> None:
        self.record, self.models = record, dict(models)

    @property
    def table(self) -> Any:
        return table(self._rows(), "rank")

    def _rows(self) -> list[dict[str, Any]]:
        return [{name: value for name, value in row.items() if name not in ("stem", "files")}
                for row in self.record["ranks"]]

    @property
    def suggested(self) -> int | None:
        rank: int | None = self.record["suggested"]
        return rank

    @property
    def suggestion(self) -> str:
        return in_python(self.record["suggestion"])

    @property
    def best(self) -> Model | None:
        return None if self.suggested is None else self.models[self.suggested]

    def __repr__(self) -> str:
        return f"<blco.Ranks {', '.join(map(str, self.models))}: {self.suggestion}>"

    def _repr_html_(self) -> str:
        heads = list(dict.fromkeys(name for row in self._rows() for name in row))
        cells = [[f"{row[name]:.6g}" if isinstance(row.get(name), float) else str(row.get(name, "")) for name in heads]
                 for row in self._rows()]
        return html_table(self.suggestion, [name.replace("_", " ") for name in heads], cells)

    def save(self, stem: str | os.PathLike[str]) -> None:
        """Writes the model of rank R to the stem STEM.rR, as Model.save() does, and STEM.ranks.json."""
        stem = os.fspath(stem)
        for rank, model in self.models.items():
            model.save(f"{stem}.r{rank}")
        rows = [{**row, "stem": f"{stem}.r{row['rank']}"} if row["rank"] in self.models else row
                for row in self.record["ranks"]]
        _files.replace(stem + ".ranks.json", json.dumps({**self.record, "ranks": rows}).encode())

    def report(self, path: str | os.PathLike[str] | None = None) -> Page:
        """The page of blco-report(1) that compares the ranks; with a path it is also written there."""
        return page_of(self, next(iter(self.models.values())).title, path)

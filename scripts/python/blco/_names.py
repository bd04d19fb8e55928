"""Names of a model: which of its indices names of a DataFrame or of another tensor have. All matching of names is
here."""

from __future__ import annotations

import os
from typing import Any, Iterator, Mapping, NamedTuple, Sequence

import numpy as np

from . import _load, _program
from ._files import texts_of
from ._tensor import Tensor

TABLES = (".csv", ".tsv", ".csv.gz", ".tsv.gz")


def reading_of(facts: Mapping[str, Any]) -> dict[str, Any]:
    """How the table was read that a model is of, as arguments of cpd(); empty where it is of none."""
    modes = facts.get("modes", [])
    if not any("order" in mode for mode in modes):
        return {}
    names = [mode.get("name", "") for mode in modes]
    bins = {name: mode["bin"] for name, mode in zip(names, modes) if "bin" in mode}
    return {"columns": names, **({"value": facts["value"]} if "value" in facts else {}), **({"bin": bins} if bins else {})}


def places_of(modes: Sequence[str | None] | None, others: Sequence[str | None] | None, order: int) -> list[int]:
    """Of each mode the other one that has its name, where both sides name all; else that of the same number."""
    if not (modes and others and all(modes) and all(others)):
        return list(range(order))
    places: list[int] = []
    for n, name in enumerate(modes):
        found = [k for k, other in enumerate(others) if k not in places and other == name]
        if not found:
            raise ValueError(f"no mode is named {name!r}, as mode {n + 1} of the model is")
        places.append(n if n in found else found[0])
    return places


class Side(NamedTuple):
    """A tensor or model whose names are matched with those of another one."""

    what: str  # it is, for messages
    modes: Sequence[str | None] | None
    names: Sequence[Any] | None


def lacking(a: Side, b: Side, compared: Sequence[int]) -> Iterator[str]:
    """Sentences about names of one side that the other one lacks. compared: modes of a, from 1."""
    places = places_of(a.modes, b.modes, max(compared, default=0))
    for n in compared:
        sides = (a.what, a.names and a.names[n - 1]), (b.what, b.names and b.names[places[n - 1]])
        mode = f" ({a.modes[n - 1]})" if a.modes and a.modes[n - 1] else ""
        for (what, names), (other, others) in (sides[::-1], sides):
            count = 0 if names is None or others is None else int((find(names, others) < 0).sum())
            if count:
                yield f"mode {n}{mode}: {count} name{'' if count == 1 else 's'} of {what} that {other} lacks"


def as_index(names: Any, mode: str | None) -> Any:
    """The names as an Index of pandas, where there is pandas."""
    if names is None or hasattr(names, "get_indexer"):
        return names
    try:
        import pandas
    except ImportError:
        return names
    try:
        return pandas.Index(names, name=mode)
    except UnicodeEncodeError:  # pandas keeps texts in Arrow, which refuses bytes that are no UTF-8
        return pandas.Index(names, name=mode, dtype=object)


def find(found: Any, names: Any) -> np.ndarray:
    """The index of each name among `names`, -1 where it is none of them. Names that are texts in one are compared as
    texts; of equal names the first counts."""
    if _are_texts(found) != _are_texts(names):
        found, names = texts_of(found), texts_of(names)
    if hasattr(names, "get_indexer"):
        if names.is_unique:
            index: np.ndarray = names.get_indexer(found)
            return index
        first = np.flatnonzero(~names.duplicated())
        index = np.append(first, -1)[names[first].get_indexer(found)]
        return index
    places = {name: i for i, name in reversed(list(enumerate(names)))}
    return np.array([places.get(name, -1) for name in found], dtype=np.int64)


def taken(names: Any, index: np.ndarray) -> Any:
    """The names of indices; where there are no names, the indices."""
    names = as_index(names, None)
    return index if names is None else names.take(index) if hasattr(names, "take") else [names[i] for i in index]


def _are_texts(names: Any) -> bool:
    if hasattr(names, "inferred_type"):
        return bool(names.inferred_type == "string")
    return all(isinstance(name, str) for name in names)


def rows_of(frame: Any, modes: Sequence[str], names: Sequence[Any] | None, bins: Mapping[str, Any]) -> np.ndarray:
    """The indices (rows x modes) that the rows of a DataFrame have in a model, by its columns that are named as the
    modes; -1 where a name is none of the model. names: of the indices of each mode; bins: widths, by mode."""
    import pandas

    index = np.full((len(frame), len(modes)), -1, dtype=np.int64)
    for n, mode in enumerate(modes):
        if mode not in frame.columns:
            raise ValueError(f"no column {mode!r}: the DataFrame has {', '.join(map(str, frame.columns))}")
        known = names[n] if names else None
        codes, found = pandas.factorize(frame[mode])
        if known is None:
            places = np.asarray(found)
            if places.dtype.kind not in "iu":
                raise TypeError(f"column {mode!r}: {places.dtype}, expected integers: the mode has no names")
        else:
            found = pandas.Index(found)
            places = find(found, known)
            width = bins.get(mode)
            if width is not None and (rest := places < 0).any():  # names of bins are those of the model
                places[rest] = find(_binned(found[rest], mode, width), known)
        index[:, n] = np.append(places, -1)[codes]
    return index


def _binned(found: Any, mode: str, width: Any) -> Any:
    """The names of the bins of values, one for each."""
    import pandas

    row = "row" if mode != "row" else "row of the table"
    frame = pandas.DataFrame({row: np.arange(len(found)), mode: found})
    coords, _, names, _ = entries_of(frame, {"columns": [row, mode], "bin": {mode: width}})
    bins = np.empty(len(found), dtype=np.int64)
    bins[np.asarray(names[0], dtype=np.int64)[coords[:, 0]]] = coords[:, 1]
    return pandas.Index(names[1]).take(bins)


def entries_of(x: Any, reading: Mapping[str, Any], values: str | None = None) -> tuple[np.ndarray, np.ndarray, list[Any], Any]:
    """Coordinates (entries x modes), values, of each mode its names or None, and the names of the modes or None, of a
    tensor that is read as `reading` says. Arrays have their order; of files and DataFrames the program sums duplicates.
    values: as of cpd(), what becomes of them, but for what a .blco file has had."""
    options = dict(reading)
    columns, value, mask = (options.pop(name, None) for name in ("columns", "value", "mask"))
    with Tensor(x, columns, value, as_text=bool(options.get("bin") or options.get("order")), mask=mask,
                unlisted="listed") as tensor:
        if tensor.entries is not None and values is None:
            coords, listed = tensor.entries
            return coords - int(options.get("index_base") or 0), listed, [None] * coords.shape[1], None
        if values is not None and tensor.path.endswith(".blco"):
            done = _change_of(tensor.path)
            values = values.removeprefix(f"{done},") if values != done else None
        path = tensor.folder + "entries.blco"
        words = _program.words_of(tensor.words({**options, "values": values}))
        words = [tensor.path, path, "--keep-zeros", *words]
        _program.output_of("convert", words, pass_fds=tensor.fds, hide=tensor.folder)
        coords, listed, shape = _load.load_blco(path)
        modes, names = (tensor.modes, tensor.names) if tensor.names is not None else _load.load_names(path)
        names = [*names, *[None] * (len(shape) - len(names))]
    order = np.lexsort(coords.T[::-1])
    return coords[order], listed[order], names, modes


def _change_of(path: str | os.PathLike[str]) -> str:
    """What became of the values of a .blco file: blco-file(5)."""
    with open(path, "rb") as file:
        file.seek(4096 - 2048 - 32)
        return file.read(32).split(b"\0")[0].decode("utf-8", "replace")

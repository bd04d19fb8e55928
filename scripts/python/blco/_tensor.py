"""Tensors of other packages as files that the program reads."""

from __future__ import annotations

import csv
import datetime
import itertools
import os
import re
from decimal import Decimal
from types import TracebackType
from typing import Any, BinaryIO, Iterator, Sequence

import numpy as np

from ._files import name_maps
from ._program import Folder

CHUNK = 1 << 16  # rows of an array that are copied at a time, so few that they stay in a cache
MAX_ORDER = 16
MOST_NAME = 127  # bytes of the name of a mode
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|[+-]?inf(inity)?", re.IGNORECASE)
DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})(?:[T ]([0-9]{2})(?::([0-9]{2})(?::([0-9]{2}))?)?(?:[.,]([0-9]+))?"
                  r"(?:Z|([+-])([0-9]{2})(?::?([0-9]{2}))?)?)?")
NARROW = {"i": "u1 u2 u4", "u": "u1 u2 u4", "f": "u1 u2 f4"}  # types of fewer bytes, for each kind of an array's type


class Tensor:
    """A tensor as an argument of the program: a file's name, or arrays. Arrays are written to memory that
    the program opens as files; its names are links in a temporary folder. Use it in a `with` block."""

    def __init__(self, x: Any, columns: Sequence[str] | None = None, value: str | None = None, *,
                 as_text: bool = False, mask: Any = None, unlisted: Any = None) -> None:
        """as_text: a DataFrame goes to the program as CSV, so that the program numbers its names. mask: where a dense
        array is known. unlisted: as of cpd(); entries of a dense array that this describes are not listed."""
        self.names: list[Any] | None = None  # of the indices of each mode: an Index of pandas
        self.modes: list[str] | None = None  # names of the modes
        self.orders: list[str] | None = None  # how the names of each mode are ordered, as blco-model(5) has it
        self.shape: tuple[int, ...] | None = None  # of arrays that know theirs
        self.path, self.folder = "", ""
        self._folder = Folder()
        self._memory: list[int] = []  # descriptors of files in memory
        self._coords: list[np.ndarray] = []
        self._values: np.ndarray | None = None
        self._frame: Any = None  # that goes to the program as CSV
        self.title = type(x).__name__  # for records and pages
        if columns is None and value is not None:
            raise TypeError("value names a column: expected columns, too")
        if mask is not None and not isinstance(x, np.ndarray):
            raise TypeError(f"mask: of {type(x).__name__}, expected a dense array")
        self.options: dict[str, Any] = {}  # of the program, that say the same
        if isinstance(x, (str, os.PathLike)):
            self.path = self.title = os.fspath(x)
            self.options = _of_csv(columns, value)
        elif columns is not None:
            self._take_frame(x, _list_of(columns), value, as_text)
        elif isinstance(x, np.ndarray):
            self._take_dense(x, mask, unlisted)
        else:
            self._take_arrays(x)

    # --- what it may be ---

    def _take_frame(self, frame: Any, columns: list[str], value: str | None, as_text: bool) -> None:
        if not hasattr(frame, "columns") or not hasattr(frame, "loc"):
            raise TypeError(f"columns: of {type(frame).__name__}, expected a pandas DataFrame or the name of a file")
        used = [*columns, *([] if value is None else [value])]
        if not 1 <= len(columns) <= MAX_ORDER:
            raise ValueError(f"columns: {len(columns)} columns, expected 1 to {MAX_ORDER}")
        for i, name in enumerate(used):
            places = [n for n, other in enumerate(frame.columns, 1) if other == name]
            if not places:
                raise ValueError(f"no column {name!r}: the DataFrame has {', '.join(map(str, frame.columns))}")
            if len(places) > 1:
                raise ValueError(f"columns {places[0]} and {places[1]} have the name {name!r}, expected one such column")
            if name in used[:i]:
                raise ValueError(f"column {name!r} is asked for twice, expected another one")
            if i < len(columns) and len(str(name).encode("utf-8", "surrogatepass")) > MOST_NAME:
                raise ValueError(f"the name of mode {i + 1} has more than {MOST_NAME} bytes: {name!r}")
        if as_text:
            self._frame, self.options = frame[used], _of_csv(columns, value)
            return
        import pandas

        self.names, self.modes, self.orders = [], [str(name) for name in columns], []
        for name in columns:
            kind = frame[name].dtype
            in_order = kind.kind in "iufmM" or getattr(kind, "ordered", False)  # numbers, dates, ordered categories
            codes, found = pandas.factorize(frame[name], sort=bool(in_order))
            if len(codes) and codes.min() < 0:
                raise ValueError(f"column {name!r}: row {int(np.argmin(codes))} has no value")
            if (empty := np.asarray(found, dtype=object) == "").any():
                raise ValueError(f"column {name!r}: row {int(np.argmax(codes == empty.argmax()))} is empty, expected a name")
            names = pandas.Index(found, name=name)
            if not in_order and (order := _order_by_value(found)):
                codes, names = np.argsort(order)[codes], names[order]
            self._coords.append(codes)
            self.names.append(names)
            self.orders.append("listed" if getattr(kind, "ordered", False) else "value")
        self.shape = tuple(max(len(found), 1) for found in self.names)
        self._values = None if value is None else frame[value].to_numpy()

    def _take_dense(self, x: np.ndarray, mask: Any, unlisted: Any) -> None:
        """An array with a value for each entry; those that are nan or masked are unknown."""
        if not 1 <= x.ndim <= MAX_ORDER:
            raise ValueError(f"an array of {x.ndim} modes, expected 1 to {MAX_ORDER}")
        if x.dtype.kind not in "fiub":
            raise TypeError(f"values: {x.dtype}, expected numbers")
        known = ~np.ma.getmaskarray(x)
        x = np.asarray(x)
        if mask is not None:
            mask = np.asarray(mask)
            if mask.shape != x.shape or mask.dtype != bool:
                raise ValueError(f"mask: {mask.dtype} of shape {mask.shape}, expected bool of shape {x.shape}")
            known &= mask
        known &= x == x
        listed = np.ones(x.shape, bool) if unlisted not in (None, "zero", "unknown") else known
        if unlisted in (None, "zero"):
            listed = ~known | (x != 0)
        self._coords, self.shape = list(np.nonzero(listed)), x.shape
        self._values = (x if known.all() else np.where(known, x, np.nan))[listed]
        self.title = "array"

    def _take_arrays(self, x: Any) -> None:
        """A pair (coords, values), or an object of SciPy, pydata/sparse or pyttb."""
        if isinstance(x, (tuple, list)) and len(x) == 2:
            self.title = "array"
            coords = np.asarray(x[0])
            if coords.ndim != 2:
                raise ValueError(f"coords: an array of shape {coords.shape}, expected (entries, modes)")
            self._coords = [coords]
            self._values = np.asarray(x[1])
        elif hasattr(x, "subs") and hasattr(x, "vals"):  # pyttb.sptensor
            self._coords = [np.asarray(x.subs).reshape(-1, len(x.shape))]
            self._values = np.asarray(x.vals).reshape(-1)
            self.shape = tuple(x.shape)
        elif hasattr(x, "fill_value") and hasattr(x, "asformat"):  # pydata/sparse
            x = x.asformat("coo")
            if x.fill_value != 0:
                raise ValueError(f"fill_value {x.fill_value}, expected 0")
            self._coords, self._values, self.shape = [x.coords.T], x.data, tuple(x.shape)
        elif hasattr(x, "tocoo"):  # SciPy
            x = x.tocoo()
            self._coords = list(getattr(x, "coords", None) or (x.row, x.col))
            self._values, self.shape = x.data, tuple(x.shape)
        elif hasattr(x, "columns") and hasattr(x, "loc"):
            raise TypeError("a DataFrame: expected columns=[...], the columns that are modes")
        else:
            raise TypeError(f"a tensor: of {type(x).__name__}, expected a path, (coords, values), a DataFrame with columns=, "
                            "a dense array, or a sparse tensor of SciPy, pydata/sparse or pyttb")

    # --- as arrays ---

    @property
    def entries(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Coordinates and values, where they are here and not with the program, in the order that they have."""
        if self.names is not None or not self._coords or self._values is None:
            return None
        coords = self._coords[0] if self._coords[0].ndim == 2 else np.stack(self._coords, axis=1)
        if self._values.size != len(coords):
            raise ValueError(f"{self._values.size} values, expected {len(coords)}, one for each of the coordinates")
        return coords, self._values.reshape(-1)

    # --- as files ---

    def words(self, options: dict[str, Any]) -> dict[str, Any]:
        """The options, and what the tensor says itself."""
        own = {**self.options, **({"dims": self.shape} if self.shape else {})}
        return {**own, **{name: value for name, value in options.items() if value is not None}}

    def __enter__(self) -> Tensor:
        self.folder = self._folder.__enter__().path
        if self._coords or self._frame is not None:
            try:
                self._write()
            except BaseException:
                self.__exit__(None, None, None)
                raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        for fd in self._memory:
            os.close(fd)
        self._memory = []
        self._folder.__exit__(kind, error, trace)

    @property
    def fds(self) -> list[int]:
        """What the program inherits."""
        return self._folder.fds + self._memory

    def write_names(self) -> None:
        """The names of a DataFrame beside the arrays, so that the program gives them to the model's files."""
        if self.names is not None:
            for suffix, text in name_maps(self.modes, self.names).items():
                with open(f"{self.folder}coords.{suffix}", "wb") as file:
                    file.write(text)

    def _write(self) -> None:
        if self._frame is not None:
            self.path, fd = self._make("frame.csv")
            with open(fd, "w", encoding="utf-8", errors="surrogateescape", newline="", closefd=False) as text:
                self._frame.to_csv(text, index=False, quoting=csv.QUOTE_NONNUMERIC)
            return
        coords = self._coords
        if not all(c.dtype.kind in "iu" for c in coords):
            raise TypeError(f"coords: {coords[0].dtype}, expected integers")
        kind = np.result_type(*coords)
        self.path = self._add("coords.npy", coords, kind if kind.kind in "iu" else np.dtype(np.int64))
        if self._values is None:
            return
        values = self._values
        if values.dtype.kind not in "fiub":
            raise TypeError(f"values: {values.dtype}, expected numbers")
        exact = values.dtype.kind in "iub" or values.dtype.itemsize in (4, 8)
        self.path += "," + self._add("values.npy", [values], values.dtype if exact else np.dtype(np.float64))

    def _add(self, name: str, arrays: list[np.ndarray], kind: np.dtype) -> str:
        """Makes a file of one array, or of columns of a matrix, whose numbers have this type; returns its path.
        The file has the narrowest type that has the same numbers, for less is copied and read then."""
        kind = kind.newbyteorder("<")
        narrow = [some for some in map(np.dtype, NARROW.get(kind.kind, "").split()) if some.itemsize < kind.itemsize]
        path, fd = self._make(name)
        with open(fd, "wb", closefd=False) as file, np.errstate(all="ignore"):  # numbers that a type lacks
            any(_write_array(file, arrays, some, exactly=some != kind) for some in [*narrow, kind])
        return path

    def _make(self, name: str) -> tuple[str, int]:
        """A file in memory, empty: its path for the program, and its descriptor."""
        path, fd = self.folder + name, os.memfd_create(name)
        self._memory.append(fd)
        os.symlink(f"/proc/self/fd/{fd}", path)
        return path, fd


def _of_csv(columns: Sequence[str] | None, value: str | None) -> dict[str, Any]:
    """The options that name columns of CSV."""
    if columns is None:
        return {}
    return {"columns": columns if isinstance(columns, str) else ",".join(map(_quoted, columns)), "value": value}


def _list_of(columns: Sequence[str]) -> list[str]:
    """The columns, also where they are one text, as in --columns."""
    return next(csv.reader([columns], strict=True), []) if isinstance(columns, str) else list(columns)


def _quoted(name: Any) -> str:
    """The name of a column as a field of CSV."""
    text = str(name)
    return '"' + text.replace('"', '""') + '"' if any(mark in text for mark in ',"\r\n') else text


def _order_by_value(names: Any) -> list[int] | None:
    """The places of names in their order by value, if all are numbers or all dates, as the program orders those of
    CSV; names of equal value are in the order of their bytes."""
    texts = [str(name) for name in names]
    for value_of in (_number, _date):
        values = list(itertools.takewhile(lambda value: value is not None, map(value_of, texts)))
        if len(values) == len(texts):
            return sorted(range(len(texts)), key=lambda i: (values[i], texts[i].encode("utf-8", "surrogatepass")))
    return None


def _number(text: str) -> Decimal | None:
    return Decimal(text) if NUMBER.fullmatch(text) else None


def _date(text: str) -> Decimal | None:
    """A date of ISO 8601 in seconds."""
    found = DATE.fullmatch(text)
    if not found:
        return None
    *parts, fraction, sign, east, minutes = found.groups()
    year, month, day, hour, minute, second = (int(part or 0) for part in parts)
    unit = 1 if parts[5] else 60 if parts[4] else 3600
    after = Decimal(minute * 60 + second) + Decimal(f"0.{fraction or 0}") * unit
    if hour > 24 or minute > 59 or second > 60 or (hour == 24 and after > 0) or int(east or 0) > 23 or int(minutes or 0) > 59:
        return None
    try:
        days = datetime.date(year, month, day).toordinal()
    except ValueError:
        return None
    return days * 86400 + hour * 3600 + after - int(f"{sign or ''}1") * (int(east or 0) * 3600 + int(minutes or 0) * 60)


def _write_array(file: BinaryIO, arrays: list[np.ndarray], kind: np.dtype, exactly: bool) -> bool:
    """Writes one array, or columns of a matrix, as numbers of a type; ends with False at numbers that must be exact
    and that the type lacks."""
    first = arrays[0]
    by_rows = first.ndim == 2 and len(arrays) == 1 and not first.flags.f_contiguous
    shape = first.shape if len(arrays) == 1 else (len(first), len(arrays))
    file.seek(0)
    file.truncate()
    np.lib.format.write_array_header_1_0(file, {
        "descr": np.lib.format.dtype_to_descr(kind), "fortran_order": not by_rows, "shape": shape})
    for array in arrays:
        for part in _parts(array if by_rows else array.T):
            written = np.ascontiguousarray(part, dtype=kind)
            if exactly and not (written == part).all():
                return False
            file.write(written.data.cast("B"))
    return True


def _parts(array: np.ndarray) -> Iterator[np.ndarray]:
    """The array in parts of consecutive rows, so that little of it is copied at a time."""
    if array.ndim == 2 and len(array) <= MAX_ORDER:  # few long rows
        for row in array:
            yield from _parts(row)
        return
    for i in range(0, len(array), CHUNK):
        yield array[i : i + CHUNK]

"""The model that a decomposition has."""

from __future__ import annotations

import json
import os
import warnings
from typing import Any, Callable, Literal, Mapping, NamedTuple, Sequence

import numpy as np

from . import _files, _load, _names, _program
from ._notebook import Page, html_table
from ._tables import Record, table
from ._tensor import Tensor

CHUNK = 1 << 22  # numbers that predict() makes at a time
SHOWN = 3  # names of a component and mode in a notebook
MOST_SHOWN = 20  # components


# What to expect of an entry where the model has the value m, if not m itself.
EXPECTED: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "binary": lambda m: -np.expm1(-m),
    "zero-truncated": lambda m: np.maximum(m, 1e-100) / -np.expm1(-np.maximum(m, 1e-100))}


class Comparison(NamedTuple):
    """How alike two models are: blco-compare(1)."""

    score: float  # the mean of the pairs' scores, 1 for equal models
    congruence: float  # the mean absolute congruence
    pairs: Any  # a table: a row for each pair of components, a and b, which count from 1
    without_partner: dict[str, list[int]]  # the components of a and of b that are in no pair


class Model:
    """A model of R components: the sum of weights[r] times the outer product of column r of all factors.

    weights   (R) the weights, the largest first
    factors   of each mode a matrix (length x R), whose columns have unit norm: an array, or a DataFrame
              whose index has the names where the modes have names
    fit       1 - ||X - model|| / ||X||
    explained (R) the share of the tensor that each component explains alone
    lost      (R) the share that the model loses without it; None for a model of counts
    record    what the program says about the run, a dictionary: blco-record(5); its tables are attributes, as
              record.trace
    names     None, or of each mode the names of its indices, or None
    modes     the names of the modes, or None
    facts     what the model is of, a dictionary: STEM.model.json of blco-model(5); empty where that is not known
              With values="center:..." the last components, which are beyond the rank R, are the means that were taken
              off: that of all entries, then those of the slices of each mode in facts["center"]
    reading   how the columns of its tensor were read: the arguments columns, value and bin of cpd()
    """

    def __init__(self, weights: np.ndarray, factors: Sequence[np.ndarray], *, record: dict[str, Any] | None = None,
                 names: Sequence[Any] | None = None, modes: Sequence[str] | None = None,
                 facts: Mapping[str, Any] | None = None, reading: Mapping[str, Any] | None = None) -> None:
        self.weights = weights
        self.record = Record(record or {})
        self.modes = list(modes) if modes is not None else None
        self.names: list[Any] | None = None
        if names is not None and any(some is not None for some in names):
            self.names = [_names.as_index(some, self.modes[n] if self.modes else None) for n, some in enumerate(names)]
        self._facts = dict(facts or {})
        self.reading = {**_names.reading_of(self._facts), **(reading or {})}
        self._arrays = list(factors)
        self.factors: list[Any] = [self._framed(n) for n in range(len(factors))]

    def _framed(self, n: int) -> Any:
        if self.names is None or not hasattr(self.names[n], "get_indexer"):
            return self._arrays[n]
        import pandas

        components = pandas.RangeIndex(1, len(self.weights) + 1, name="component")
        return pandas.DataFrame(self._arrays[n], index=self.names[n], columns=components)

    @property
    def rank(self) -> int:
        means = len(self._facts.get("center", []))
        return len(self.weights) - (1 + means if means else 0)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(factor) for factor in self._arrays)

    @property
    def fit(self) -> float:
        return float(self.record["result"]["fit"])

    @property
    def facts(self) -> dict[str, Any]:
        modes = []
        for n, mode in enumerate(self._facts.get("modes", [])):
            name, named = self.modes and self.modes[n], self.names is not None and self.names[n] is not None
            modes.append({"length": self.shape[n], **({"name": name} if name else {}),
                          **({"names": f"mode{n + 1}.map"} if named else {}),
                          **{fact: mode[fact] for fact in ("order", "bin") if fact in mode}})
        return {**self._facts, "modes": modes} if modes else {}

    @property
    def explained(self) -> np.ndarray | None:
        return self._shares("explained")

    @property
    def lost(self) -> np.ndarray | None:
        return self._shares("lost")

    def _shares(self, name: str) -> np.ndarray | None:
        shares = (self._facts or self.record.get("result", {})).get(name)
        return None if shares is None else np.array(shares, float)

    @property
    def stop(self) -> str:
        """Why the run has ended: converged, iterations, time, signal ..."""
        return str(self.record["result"]["stop"])

    def __repr__(self) -> str:
        lengths = " x ".join(map(str, self.shape))
        fit = f", fit {self.fit:.6g}" if self.record else ""
        return f"<blco.Model of {self.rank} component{'' if self.rank == 1 else 's'}, {lengths}{fit}>"

    def _repr_html_(self) -> str:
        """The components: of each mode the strongest entries."""
        rows = [[str(r + 1), f"{self.weights[r]:.4g}",
                 *([f"{self._name(n, i)}  {factor[i, r]:.3g}" for i in _strongest(factor[:, r], SHOWN)]
                   for n, factor in enumerate(self._arrays))]
                for r in range(min(self.rank, MOST_SHOWN))]
        more = f"; the first {MOST_SHOWN} components" if self.rank > MOST_SHOWN else ""
        return html_table(repr(self)[1:-1] + more, ["component", "weight", *map(self._mode, range(len(self.shape)))], rows)

    def _mode(self, n: int) -> str:
        return self.modes[n] if self.modes and self.modes[n] else f"mode {n + 1}"

    def _name(self, n: int, i: int) -> Any:
        return i if self.names is None or self.names[n] is None else self.names[n][i]

    # --- values ---

    @property
    def _loss(self) -> str:
        return str(self._facts.get("loss") or self.record.get("options", {}).get("loss", "squares"))

    def predict(self, coords: Any) -> np.ndarray:
        """The values of the model at coordinates; with loss="binary" the probabilities of a one, with
        loss="zero-truncated" the means of counts that are not 0. Coordinates are an array of indices (entries x
        modes), from 0. If the model has names, they may be a DataFrame with the columns of the modes, like the one
        that was decomposed: values are put into its bins. A name that the model does not have gives nan."""
        if self.modes is not None and hasattr(coords, "columns") and hasattr(coords, "loc"):
            index, least = _names.rows_of(coords, self.modes, self.names, self.reading.get("bin") or {}), -1
        else:
            index, least = np.asarray(coords), 0
        if index.ndim != 2 or index.shape[1] != len(self._arrays) or index.dtype.kind not in "iu":
            raise ValueError(f"coords: {index.dtype} of shape {index.shape}, expected integers of shape "
                             f"(entries, {len(self._arrays)})")
        for n in range(len(self.shape)):
            self._check_range(n, index[:, n], least)
        values = np.empty(len(index))
        step = max(CHUNK // max(len(self.weights), 1), 1)
        for first in range(0, len(index), step):
            some = index[first : first + step]
            product = self.weights * self._arrays[0][some[:, 0]]
            for n in range(1, len(self._arrays)):
                product *= self._arrays[n][some[:, n]]
            values[first : first + step] = product.sum(axis=1)
        values[(index < 0).any(axis=1)] = np.nan
        expected = EXPECTED.get(self._loss)
        return expected(values) if expected else values

    def _check_range(self, n: int, index: np.ndarray, least: int = 0) -> None:
        if len(index) and not (least <= index.min() and index.max() < self.shape[n]):
            raise IndexError(f"coords: mode {n + 1}: expected indices from 0 to {self.shape[n] - 1}")

    def residuals(self, x: Any, **reading: Any) -> Any:
        """How far the entries of a tensor are from the model: a table with the name or index of each mode, value, model and
        residual, with another loss than squares also pearson and p, as blco-predict(1) explains;
        without pandas a dictionary of arrays. `x` as of cpd(); names that are none of the model have the values nan. The arguments are those
        of cpd() that say how a tensor is read: columns, value, bin, mask, index_base. A DataFrame or CSV file is read as
        the tensor of the model, unless they say otherwise."""
        index, values, columns = self._entries(x, reading)
        loss = self._loss
        known = (index >= 0).all(axis=1)
        found = np.full((len(index), 2 if loss == "squares" else 4), np.nan)
        if known.any():
            with Tensor((index[known], values[known].astype(np.float64))) as tensor:
                path = tensor.folder + "residuals.npy"
                words = [tensor.path, "--residuals", f"--loss={loss}", f"--output={path}"]
                self._without_names()._run("predict", words, tensor.folder, tensor.fds)
                found[known] = np.load(path)
        columns.update(value=values, **dict(zip(("model", "residual", "pearson", "p"), found.T)))
        try:
            import pandas
        except ImportError:
            return columns
        return pandas.DataFrame(columns)

    def _entries(self, x: Any, reading: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
        """The entries of a tensor: their indices in the model, -1 where a name is none of it; values; of each mode the
        names, or the indices."""
        is_table = hasattr(x, "loc") or (isinstance(x, (str, os.PathLike)) and os.fspath(x).endswith(_names.TABLES))
        own = {**({"columns": self.modes} if self.modes else {}), **self.reading} if is_table else {}
        changed = self._facts.get("values") or self.record.get("options", {}).get("values")
        coords, values, found_names, modes = _names.entries_of(x, {**own, **reading}, changed)
        if coords.shape[1] != len(self.shape):
            raise ValueError(f"a tensor of {coords.shape[1]} modes, expected the {len(self.shape)} of the model")
        places = _names.places_of(self.modes, modes, len(self.shape))
        coords = coords[:, places]
        index, columns = coords.astype(np.int64), {}
        for n, found in enumerate(found_names[k] for k in places):
            names = None if self.names is None else self.names[n]
            if (names is None) != (found is None) and (is_table or isinstance(x, (str, os.PathLike))):
                has, lacks = ("the model", "the tensor") if found is None else ("the tensor", "the model")
                raise ValueError(f"no names of the indices of mode {n + 1} in {lacks}, which {has} has: expected names in both, "
                                 "or arrays of indices")
            if names is not None and found is not None:
                index[:, n] = _names.find(_names.as_index(found, None), names)[coords[:, n]]
                columns[self._mode(n)] = _names.taken(found, coords[:, n])
            else:
                self._check_range(n, index[:, n])
                columns[self._mode(n)] = _names.taken(names, index[:, n])
        return index, values, columns

    # --- what it says ---

    def top(self, n: int = 10, *, component: int | None = None, mode: int | None = None,
            unlisted: Mapping[Any, Any] | Literal["all"] | None = None, tensor: Any = None) -> Any:
        """The n strongest entries of each component in each mode: a table of component, mode, index or name, and value.
        Components and modes count from 1, indices from 0.

        unlisted: instead, of the entries that have these names (or indices), as {"user": "ann"}, and that `tensor` does
        not list, the n where the model is largest, with the model's value: what to recommend, which links to expect.
        {"user": "all"}: n entries of each user; "all": of the whole tensor.
        Modes are named or numbered; the tensor is as of cpd(), a DataFrame or CSV read as the model's. A dense array
        lists what is neither 0 nor unknown."""
        words = [f"--count={n}", "--index-base=0"]
        if (unlisted is None) != (tensor is None):
            raise TypeError("unlisted and tensor: expected both or none: entries that the tensor lists are left out")
        if unlisted is not None:
            if component is not None or mode is not None:
                raise TypeError("unlisted, and component or mode: expected one of them")
            return self._top_unlisted(words, unlisted, tensor)
        words += ["--json"] + ([] if component is None else [f"--component={component}"])
        words += [] if mode is None else [f"--mode={mode}"]
        with _program.Folder() as folder:
            components = Model(self.weights[: self.rank], [factor[:, : self.rank] for factor in self._arrays])
            found = components._run("top", words, folder.path, folder.fds)
        return table([{"component": one["component"], "mode": self._mode(some["mode"] - 1),
                       "name": self._name(some["mode"] - 1, entry["index"]), "value": entry["value"]}
                      for one in found["components"] for some in one["modes"] for entry in some["entries"]])

    def _top_unlisted(self, words: list[str], unlisted: Mapping[Any, Any] | str, x: Any) -> Any:
        if isinstance(unlisted, str):
            words.append(f"--unlisted={unlisted}")
            unlisted = {}
        for mode, name in unlisted.items():
            places = [n for n in range(len(self.shape)) if mode == n + 1 or (self.modes and self.modes[n] == mode)]
            if not places:
                raise ValueError(f"unlisted: mode {mode!r}, expected one of {self.modes or list(range(1, len(self.shape) + 1))}")
            n = places[0]
            if isinstance(name, str) and name == "all":
                words.append(f"--unlisted={n + 1}=all")
                continue
            names = None if self.names is None else self.names[n]
            index = name if names is None else int(_names.find(_names.as_index([name], None), names)[0])
            if not isinstance(index, (int, np.integer)) or not 0 <= index < self.shape[n]:
                raise ValueError(f"unlisted: {name!r}, expected "
                                 + (f"an index from 0 to {self.shape[n] - 1}" if names is None else "a name")
                                 + f" of mode {mode!r}")
            words.append(f"--unlisted={n + 1}={index}")
        index, values, _ = self._entries(x, {"value": None})
        if isinstance(x, np.ndarray):  # which lists all entries
            index = index[(values != 0) & (values == values)]
        index = index[(index >= 0).all(axis=1)]
        with Tensor((index, np.ones(len(index)))) as tensor:
            path = tensor.folder + "unlisted.npy"
            words.append(f"--output={path}")
            self._without_names()._run("top", [tensor.path.split(",")[0], *words], tensor.folder, tensor.fds)
            found = np.load(path)
        columns: dict[str, Any] = {
            self._mode(n): _names.taken(None if self.names is None else self.names[n], found[:, n].astype(np.int64))
            for n in range(len(self.shape))}
        columns["model"] = found[:, -1]
        try:
            import pandas
        except ImportError:
            return [dict(zip(columns, row)) for row in zip(*columns.values())]
        return pandas.DataFrame(columns)

    def compare(self, other: Model, *, modes: Sequence[int] | None = None, weights: bool = True,
                match: Literal["names", "all", "index"] | None = None) -> Comparison:
        """How alike two models are, and which components belong together: blco-compare(1). modes: these alone, as [2, 3];
        the others may have other lengths. weights: whether weights count, and not the columns alone. match: whether rows
        are matched by names, where there are any; those that only one model has are left out, with a warning."""
        if not isinstance(other, Model):
            raise TypeError(f"a model to compare with: of {type(other).__name__}, expected a blco.Model")
        words = _program.words_of({"json": True, "modes": modes, "no_weights": not weights, "match": match})
        with _program.Folder() as folder:
            other.save(folder.path + "other")
            found = self._run("compare", [folder.path + "other", *words], folder.path, folder.fds)
        if match != "index":
            a, b = (_names.Side(what, k.modes, k.names) for what, k in (("the model", self), ("the other one", other)))
            for text in _names.lacking(a, b, found["compared"]):
                warnings.warn(text, _program.Warning, stacklevel=2)
        pairs = [{**{name: value for name, value in pair.items() if name != "cosines"},
                  **{self._mode(n - 1): cosine for n, cosine in zip(found["compared"], pair["cosines"])}}
                 for pair in found["pairs"]]
        return Comparison(found["score"], found["congruence"], table(pairs), found["without_partner"])

    # --- files and pages ---

    def save(self, stem: str | os.PathLike[str]) -> None:
        """Writes STEM.modeN.npy, STEM.lambda.npy, STEM.json, the record, STEM.model.json, and of modes with names
        STEM.modeN.map and STEM.modes.map for commands of blco. They replace the files of an older model
        together, as those of the program do: blco-model(5)."""
        arrays = [*((f"mode{n}", factor) for n, factor in enumerate(self._arrays, 1)), ("lambda", self.weights)]
        files: dict[str, np.ndarray | bytes] = {
            f"{part}.npy": np.ascontiguousarray(array, dtype=np.float64) for part, array in arrays}
        if self.record:
            files["json"] = json.dumps(self.record).encode()
        if self.facts:
            files["model.json"] = _files.facts_text(self.facts)
        _files.write(os.fspath(stem), {**files, **_files.name_maps(self.modes, self.names)})

    def report(self, path: str | os.PathLike[str] | None = None) -> Page:
        """The page of blco-report(1), which a notebook shows; with a path it is also written there, as one file."""
        return page_of(self, self.title, path)

    @property
    def title(self) -> str:
        """What the model is of, in few words: the name of a file without endings, or of a type."""
        name = os.path.basename(str(self.record.get("tensor", {}).get("name", "")))
        return name.split(".")[0][:50] or "model"

    def _without_names(self) -> Model:
        """For commands that are given indices, and values as they are."""
        return Model(self.weights, self._arrays)

    def _run(self, command: str, words: list[str], folder: str, fds: list[int]) -> Any:
        """What a command prints, as JSON, about the model, whose files go to a temporary folder."""
        self.save(folder + "model")
        output = _program.output_of(command, [folder + "model", *words], pass_fds=fds, hide=folder)
        return json.loads(output) if output else None

    # --- other packages ---

    def to_pyttb(self) -> Any:
        """A pyttb.ktensor."""
        import pyttb

        return pyttb.ktensor([np.asfortranarray(factor) for factor in self._arrays], self.weights.copy())

    def to_tensorly(self) -> Any:
        """A CPTensor of TensorLy."""
        from tensorly.cp_tensor import CPTensor

        return CPTensor((self.weights.copy(), [factor.copy() for factor in self._arrays]))


def page_of(saved: Any, title: str, path: str | os.PathLike[str] | None) -> Page:
    """The page of what has a method save."""
    with _program.Folder() as folder:
        saved.save(folder.path + title)
        output = _program.output_of("report", [folder.path + title, "--output=-"], pass_fds=folder.fds, hide=folder.path)
        page = Page(_program.without(folder.path, output.decode("utf-8", "replace")))
    if path is not None:
        with open(path, "w", encoding="utf-8") as file:
            file.write(page.text)
    return page


def _strongest(column: np.ndarray, count: int) -> list[int]:
    """The indices of the entries of largest magnitude, the strongest first; a thousandth of that one is the least."""
    size = abs(column)
    some = np.argpartition(-size, count)[:count] if count < len(size) else np.arange(len(size))
    return [int(i) for i in some[np.argsort(-size[some], kind="stable")] if size[i] > size.max() / 1000]


def load(stem: str | os.PathLike[str]) -> Model:
    """The model whose files begin with `stem`, in any format, with its names, what it is of, and the record of its run
    from STEM.json."""
    stem = os.fspath(stem)
    weights, factors = _load.load_blco(stem)
    modes, names = _load.load_names(stem)
    names = [*names, *[None] * (len(factors) - len(names))]
    own = stem.removesuffix(".ktns")
    facts = _files.read_facts(own, len(weights), [len(factor) for factor in factors])
    path, record = own + ".json", None
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            record = json.load(file)
    return Model(weights, factors, record=record, names=names, facts=facts,
                 modes=[mode or "" for mode in modes] if any(modes) else None)

"""The model that a decomposition has."""

from __future__ import annotations

import html
import json
import os
from typing import Any, Sequence

import numpy as np

from . import _files, _program

CHUNK = 1 << 22  # numbers that predict() makes at a time


def _index(names: Any, mode: str | None) -> Any:
    """The names as an Index of pandas, where there is pandas."""
    if names is None or hasattr(names, "get_indexer"):
        return names
    try:
        import pandas
    except ImportError:
        return names
    return pandas.Index(names, name=mode)


class Model:
    """A model of R components: the sum of weights[r] times the outer product of column r of all factors.

    weights   (R) the weights, the largest first
    factors   of each mode a matrix (length x R), whose columns have unit norm: an array, or a DataFrame
              whose index has the names where the modes have names
    fit       1 - ||X - model|| / ||X||
    explained (R) the share of the tensor that each component explains alone
    lost      (R) the share that the model loses without it; None for a model of counts
    record    what the program says about the run, a dictionary: blco-record(5)
    names     None, or of each mode the names of its indices, or None
    modes     the names of the modes, or None
    """

    def __init__(self, weights: np.ndarray, factors: Sequence[np.ndarray], *, record: dict[str, Any] | None = None,
                 names: Sequence[Any] | None = None, modes: Sequence[str] | None = None) -> None:
        self.weights = weights
        self.record: dict[str, Any] = record or {}
        self.modes = list(modes) if modes is not None else None
        self.names: list[Any] | None = None
        if names is not None and any(some is not None for some in names):
            self.names = [_index(some, self.modes[n] if self.modes else None) for n, some in enumerate(names)]
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
        return len(self.weights)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(factor) for factor in self._arrays)

    @property
    def fit(self) -> float:
        return float(self.record["result"]["fit"])

    @property
    def explained(self) -> np.ndarray:
        return np.array(self.record["result"]["explained"], float)

    @property
    def lost(self) -> np.ndarray | None:
        shares = self.record["result"].get("lost")
        return None if shares is None else np.array(shares, float)

    @property
    def stop(self) -> str:
        """Why the run has ended: converged, iterations, time, signal ..."""
        return str(self.record["result"]["stop"])

    def __repr__(self) -> str:
        lengths = " x ".join(map(str, self.shape))
        fit = f", fit {self.fit:.6g}" if self.record else ""
        return f"<blco.Model of {self.rank} component{'' if self.rank == 1 else 's'}, {lengths}{fit}>"

    # --- values and tables ---

    def predict(self, coords: Any) -> np.ndarray:
        """The values of the model at coordinates: an array of indices (entries x modes), from 0; or, of a model
        with names, a DataFrame that has the columns of the modes."""
        index = self._indices(coords)
        values = np.empty(len(index))
        step = max(CHUNK // max(self.rank, 1), 1)
        for first in range(0, len(index), step):
            some = index[first : first + step]
            product = self.weights * self._arrays[0][some[:, 0]]
            for n in range(1, len(self._arrays)):
                product *= self._arrays[n][some[:, n]]
            values[first : first + step] = product.sum(axis=1)
        return values

    def _indices(self, coords: Any) -> np.ndarray:
        if self.names is not None and self.modes is not None and hasattr(coords, "columns"):
            found = [coords[mode].to_numpy() if names is None else names.get_indexer(coords[mode])
                     for names, mode in zip(self.names, self.modes)]
            index = np.stack(found, axis=1)
            for n, mode in enumerate(self.modes):
                if len(index) and index[:, n].min() < 0:
                    name = coords[mode].iloc[int(np.argmin(index[:, n]))]
                    raise KeyError(f"column {mode!r}: {name!r} is no name of the model")
            return index
        index = np.asarray(coords)
        if index.ndim != 2 or index.shape[1] != len(self._arrays) or index.dtype.kind not in "iu":
            raise ValueError(f"coords: {index.dtype} of shape {index.shape}, expected integers of shape "
                             f"(entries, {len(self._arrays)})")
        for n, length in enumerate(self.shape):
            if len(index) and not (0 <= index[:, n].min() and index[:, n].max() < length):
                raise IndexError(f"coords: mode {n + 1}: expected indices from 0 to {length - 1}")
        return index

    def top(self, count: int = 10, *, component: int | None = None, mode: int | None = None) -> Any:
        """The strongest entries of each component in each mode, as `blco top` shows them: what it prints with
        --json, a dictionary. Components and modes count from 1, as in the program, indices from 0."""
        words = [f"--count={count}", "--index-base=0", "--json"]
        words += [] if component is None else [f"--component={component}"]
        words += [] if mode is None else [f"--mode={mode}"]
        found = json.loads(self._run("top", words).output)
        del found["model"]
        return found

    # --- files and pages ---

    def save(self, stem: str | os.PathLike[str]) -> None:
        """Writes STEM.modeN.npy, STEM.lambda.npy, STEM.json, the record, and of modes with names
        STEM.modeN.map and STEM.modes.map for commands of blco. They replace the files of an older model
        together, as those of the program do: blco-model(5)."""
        arrays = [*((f"mode{n}", factor) for n, factor in enumerate(self._arrays, 1)), ("lambda", self.weights)]
        files: dict[str, np.ndarray | bytes] = {
            f"{part}.npy": np.ascontiguousarray(array, dtype=np.float64) for part, array in arrays}
        if self.record:
            files["json"] = json.dumps(self.record).encode()
        _files.write(os.fspath(stem), {**files, **_files.name_maps(self.modes, self.names)})

    def report(self, path: str | os.PathLike[str]) -> None:
        """Writes the page of `blco report`, one file of HTML."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self._page())

    def _run(self, command: str, words: list[str]) -> _program.Result:
        with _program.Folder() as folder:
            self.save(folder.path + "model")
            result = _program.run(command, [folder.path + "model", *words], pass_fds=folder.fds, hide=folder.path)
        if result.status:
            raise result.error()
        return result

    def _page(self) -> str:
        return self._run("report", ["--output=-"]).output.decode("utf-8", "replace")

    def _repr_html_(self) -> str:
        page = html.escape(self._page(), quote=True)
        return f'<iframe srcdoc="{page}" style="width: 100%; height: 40em; border: 1px solid #ccc"></iframe>'

    # --- other packages ---

    def to_pyttb(self) -> Any:
        """A pyttb.ktensor."""
        import pyttb

        return pyttb.ktensor([np.asfortranarray(factor) for factor in self._arrays], self.weights.copy())

    def to_tensorly(self) -> Any:
        """A CPTensor of TensorLy."""
        from tensorly.cp_tensor import CPTensor

        return CPTensor((self.weights.copy(), [factor.copy() for factor in self._arrays]))

"""Commands of the program with tensors of other packages."""

from __future__ import annotations

import json
import os
import warnings
from typing import Any, Mapping, Sequence

import numpy as np

from . import _program
from ._files import read_map
from ._model import Model
from ._tensor import Tensor


def words_of(options: Mapping[str, Any]) -> list[str]:
    """Options as words of a command line; None and False are options that are not given."""
    words = []
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if value is None or value is False:
            continue
        if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):  # given once for each
            words += [f"{option}={key}={_text_of(part)}" for key, part in value.items()]
        else:
            words.append(option if value is True else f"{option}={_text_of(value)}")
    return words


def _text_of(value: Any) -> str:
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return ",".join(f"{key}={_text_of(part)}" for key, part in value.items())
    if isinstance(value, (list, tuple, np.ndarray, range)):
        return ",".join(_text_of(part) for part in value)
    return str(value.item() if isinstance(value, np.generic) else value)


def _asks_for_text(options: Mapping[str, Any]) -> bool:
    """Whether the program is to number names in a way that only CSV has."""
    return bool(options.get("bin") or options.get("order"))


def run_cpd(x: Any, rank: int, columns: Sequence[str] | None, value: str | None, progress: bool | None,
            options: dict[str, Any]) -> Model:
    rank_text = _text_of(rank)
    if not rank_text.isdigit():
        raise _program.InputError(f"rank: {rank_text}, expected one number: a range is for blco cpd")
    show = _program.shows_progress() if progress is None else progress
    with Tensor(x, columns, value, _asks_for_text(options)) as tensor:
        stem = _text_of(options.pop("stem", None) or "")
        if stem:
            tensor.write_names()
        stem = stem or tensor.folder + "model"
        formats = options.pop("format", None)
        if formats is not None and "npy" not in (formats := _text_of(formats)).split(","):
            formats += ",npy"
        words = [tensor.path, f"--rank={rank_text}", f"--stem={stem}", f"--format={formats or 'npy'}", "--json"]
        result = _program.run("cpd", words + words_of(tensor.words(options)), progress=show, pass_fds=tensor.fds,
                              hide=tensor.folder)
        if result.status not in (0, _program.NotConverged.status, *_program.INTERRUPTED) or not result.output:
            raise result.error()
        model = _read(json.loads(result.output), stem, tensor)
    return _concluded(model, result)


def _concluded(model: Model, result: _program.Result) -> Model:
    if result.status == _program.NotConverged.status:
        error = result.error()
        error.model = model
        raise error
    if result.status:
        warnings.warn(f"interrupted after {model.record['result']['iterations']} iterations: the model is that "
                      "of the last one", RuntimeWarning, stacklevel=4)
    return model


def _read(record: dict[str, Any], stem: str, tensor: Tensor) -> Model:
    order = record["tensor"]["order"]
    factors = [np.load(f"{stem}.mode{n}.npy") for n in range(1, order + 1)]
    names = tensor.names
    if names is None:
        names = [_labels(f"{stem}.mode{n}.map", len(factor)) for n, factor in enumerate(factors, 1)]
    modes = tensor.modes or record["tensor"].get("modes")
    return Model(np.load(f"{stem}.lambda.npy"), factors, record=record, names=names, modes=modes)


def _labels(path: str, count: int) -> list[str] | None:
    """The labels that a model keeps beside its files, where they are as many as its rows."""
    labels = read_map(path)
    return labels if labels is not None and len(labels) == count else None


def info(x: Any, *, columns: Sequence[str] | None = None, value: str | None = None, **options: Any) -> dict[str, Any]:
    """What is in a tensor, and the memory plan of decomposing it: what `blco info --json` prints. `x` as of
    cpd(); the options are those of `blco info`."""
    with Tensor(x, columns, value, _asks_for_text(options)) as tensor:
        result = _program.run("info", [tensor.path, "--json", *words_of(tensor.words(options))], pass_fds=tensor.fds,
                              hide=tensor.folder)
        if result.status:
            raise result.error()
    found: dict[str, Any] = json.loads(result.output)
    return found

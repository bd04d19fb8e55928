"""Commands of the program with tensors of other packages."""

from __future__ import annotations

import json
import numbers
import os
import re
import warnings
from typing import Any, Mapping, Sequence

import numpy as np

from . import _files, _load, _names, _program
from ._model import Model
from ._ranks import Ranks
from ._tensor import Tensor
from ._words import in_python


def _asks_for_text(options: Mapping[str, Any]) -> bool:
    """Whether the program is to number names in a way that only CSV has."""
    return bool(options.get("bin") or options.get("order") or _has_start(options))


def _has_start(options: Mapping[str, Any]) -> bool:
    """Whether names are matched with those of a model."""
    return options.get("init") not in (None, "random", "normal", "nvecs") and options.get("match") != "index"


MOST_RANKS = 1000  # that the program has in a range


def _rank_text(rank: Any) -> str:
    """The rank, or the range of ranks A:B:S."""
    expected = "expected a whole number from 1, or a range of them, as range(2, 9) or '2:8'"
    given = rank
    if isinstance(rank, str):
        parts = list(map(int, rank.split(":"))) if re.fullmatch(r"[1-9]\d*(:[1-9]\d*){0,2}", rank) else [0]
        rank = parts[0] if len(parts) == 1 else range(parts[0], parts[1] + 1, *parts[2:])
    several = isinstance(rank, (list, tuple, range, np.ndarray))
    some = list(rank[:MOST_RANKS + 1]) if several else [rank]
    if not all(isinstance(one, numbers.Integral) and not isinstance(one, bool) for one in some):
        raise TypeError(f"rank: {given!r}, {expected}")
    steps = {b - a for a, b in zip(some, some[1:])}
    wrong = min(some, default=0) < 1 or len(steps) > 1 or min(steps, default=1) < 1
    if wrong or (several and not 2 <= len(some) <= MOST_RANKS):
        more = f": 2 to {MOST_RANKS} ranks at equal distances" if several else ""
        raise ValueError(f"rank: {given!r}, {expected}{more}")
    return f"{some[0]}:{some[-1]}:{steps.pop()}" if several else str(some[0])


def run_cpd(x: Any, rank: Any, columns: Sequence[str] | None, value: str | None, mask: Any, progress: bool | None,
            options: dict[str, Any]) -> Any:
    rank_text = _rank_text(rank)
    show = _program.shows_progress() if progress is None else progress
    reading = {name: given for name, given in (("columns", columns), ("value", value)) if given is not None}
    with Tensor(x, columns, value, as_text=_asks_for_text(options), mask=mask, unlisted=options.get("unlisted")) as tensor:
        if isinstance(options.get("init"), Model):
            options["init"].save(tensor.folder + "init")
            options["init"] = tensor.folder + "init"
        start = _load.load_names(_program.text_of(options["init"])) if _has_start(options) else (None, [])
        stem = _program.text_of(options.pop("stem", None) or "")
        if stem:
            tensor.write_names()
        kept = bool(stem)
        stem = stem or tensor.folder + "model"
        formats = options.pop("format", None)
        if formats is not None and "npy" not in (formats := _program.text_of(formats)).split(","):
            formats += ",npy"
        words = [tensor.path, f"--rank={rank_text}", f"--stem={stem}", f"--format={formats or 'npy'}", "--json"]
        result = _program.run("cpd", words + _program.words_of(tensor.words(options)), progress=show, pass_fds=tensor.fds,
                              hide=tensor.folder)
        ends = (0, _program.NotConverged.status, *_program.INTERRUPTED)
        broken = result.status == _program.NumericalError.status and ":" in rank_text  # one of the ranks
        if result.status not in ends and not broken or not result.output:
            raise result.error()
        models = [_read(record, tensor, kept, reading) for record in _records(result.output.decode())]
        found: Any = models[0]
        if ":" in rank_text and os.path.exists(stem + ".ranks.json"):
            with open(stem + ".ranks.json", encoding="utf-8") as file:
                found = Ranks(_named(json.load(file), tensor), {model.rank: model for model in models})
    tensors = _names.Side(tensor.title, models[0].modes, models[0].names)
    for text in _names.lacking(_names.Side("init", *start), tensors, range(1, len(start[1]) + 1)):
        warnings.warn(text, _program.Warning, stacklevel=3)
    for model in models:
        _warn(model, f"rank {model.rank}: " if isinstance(found, Ranks) else "")
    return _concluded(found, models[-1], result)


def _records(output: str) -> list[dict[str, Any]]:
    """The records that were printed one after the other."""
    found, at = [], 0
    while at < len(output):
        record, at = json.JSONDecoder().raw_decode(output, at)
        found.append(record)
        at = len(output) - len(output[at:].lstrip())
    return found


def _warn(model: Model, prefix: str) -> None:
    for finding in model.record.get("findings", []):
        if finding["severity"] == "warning":
            text = "; ".join(filter(None, (finding["sentence"], finding["advice"])))
            warnings.warn(prefix + in_python(text), _program.Warning, stacklevel=4)


def _concluded(found: Any, last: Model, result: _program.Result) -> Any:
    if result.status == _program.NotConverged.status:
        error = result.error()
        error.model = found
        raise error
    if result.status in _program.INTERRUPTED:
        warnings.warn(f"interrupted after {last.record['result']['iterations']} iterations: the model is that "
                      "of the last one", _program.Warning, stacklevel=4)
    elif result.status:
        warnings.warn(str(result.error()), _program.Warning, stacklevel=4)
    return found


def _read(record: dict[str, Any], tensor: Tensor, kept: bool, reading: dict[str, Any]) -> Model:
    stem, order = record["options"]["stem"], record["tensor"]["order"]
    factors = [np.load(f"{stem}.mode{n}.npy") for n in range(1, order + 1)]
    names = tensor.names
    if names is None:
        names = [_labels(f"{stem}.mode{n}.map", len(factor)) for n, factor in enumerate(factors, 1)]
    modes = tensor.modes or record["tensor"].get("modes")
    record = _named(record, tensor)
    weights = np.load(f"{stem}.lambda.npy")
    facts = _files.read_facts(stem, len(weights), [len(factor) for factor in factors])
    for mode, how in zip(facts["modes"], tensor.orders or []):  # of a DataFrame, of which the program has seen indices
        mode["order"] = how
    if tensor.orders and "value" in reading:
        facts["value"] = str(reading["value"])
    if not kept:
        record["options"]["stem"], record["files"] = None, []
    model = Model(weights, factors, record=record, names=names, modes=modes, facts=facts, reading=reading)
    if kept and tensor.orders:
        _files.replace(f"{stem}.model.json", _files.facts_text(model.facts))
    return model


def _named(record: dict[str, Any], tensor: Tensor) -> dict[str, Any]:
    """A record without the names of temporary files."""
    found: dict[str, Any] = _program.without(tensor.folder, record)
    found["tensor"]["name"] = tensor.title
    return found


def _labels(path: str, count: int) -> list[str] | None:
    """The labels that a model keeps beside its files, where they are as many as its rows."""
    labels = _files.read_map(path)
    return labels if labels is not None and len(labels) == count else None


def info(x: Any, *, columns: Sequence[str] | None = None, value: str | None = None, mask: Any = None,
         **options: Any) -> dict[str, Any]:
    """What is in a tensor, and the memory plan of decomposing it: what blco-info(1) describes as JSON. `x` as of
    cpd(); the options are those of the command."""
    with Tensor(x, columns, value, as_text=_asks_for_text(options), mask=mask, unlisted=options.get("unlisted")) as tensor:
        words = [tensor.path, "--json", *_program.words_of(tensor.words(options))]
        output = _program.output_of("info", words, pass_fds=tensor.fds, hide=tensor.folder)
    found: dict[str, Any] = {**json.loads(output), "tensor": tensor.title}
    return found

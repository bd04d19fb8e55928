"""The files of a model, which replace those of an older model together, and the names beside them. blco-model(5)
and blco-csv(5) describe both."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import socket
from typing import Any, BinaryIO, Iterator, Mapping, Sequence

import numpy as np

from ._program import OutputError

MODES = range(1, 17)
MAPS = [*(f"mode{n}.map" for n in MODES), "modes.map"]
MODEL = ["ktns", "model.json",
         *(f"{part}.{ending}" for ending in ("mat", "npy", "csv") for part in ("lambda", *(f"mode{n}" for n in MODES)))]
HEAD = "blco, process "  # begins the first text line of a lock
MARK = "\ufeff"

# --- names ---


def name_maps(modes: Sequence[Any] | None, names: Sequence[Any] | None) -> dict[str, bytes]:
    """The maps of modes and of their indices, by suffix, as the program writes and finds them."""
    maps = {f"mode{n}.map": some for n, some in enumerate(names or [], 1) if some is not None}
    if maps or modes is not None:
        maps["modes.map"] = modes if modes is not None else [""] * len(names or [])
    return {suffix: _lines(some) for suffix, some in maps.items()}


def texts_of(names: Any) -> Any:
    """Names as texts: a list, or of an Index of pandas an Index, whose dates have a time only where one of them has."""
    if not hasattr(names, "get_indexer"):
        return [str(name) for name in names]
    return names if names.inferred_type == "string" else names.astype(str)


def _lines(names: Sequence[Any]) -> bytes:
    texts = list(texts_of(names))
    for text in texts:
        if "\0" in text:
            raise ValueError(f"the name {text!r} has a character of value 0, which files of names cannot have")
    mark = MARK if texts and texts[0].startswith(MARK) else ""
    return (mark + "".join(_escaped(text) + "\n" for text in texts)).encode("utf-8", "surrogateescape")


def _escaped(name: str) -> str:
    for escape in ("x5c", "x0a", "x0d"):  # the first one makes others, which stay
        name = name.replace("\\" + escape, "\\x5c" + escape)
    return name.replace("\n", "\\x0a").replace("\r", "\\x0d")


def read_map(path: str) -> list[str] | None:
    """The names of a file; None where there is none."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape", newline="\n") as file:
            lines = file.read().removeprefix(MARK).removesuffix("\n").split("\n")
    except FileNotFoundError:
        return None
    return [line.removesuffix("\r").replace("\\x0a", "\n").replace("\\x0d", "\r").replace("\\x5c", "\\") for line in lines]


def replace(path: str, text: bytes) -> None:
    """Writes one file, whole or not at all."""
    hidden = f"{path}-{os.getpid()}"
    with open(hidden, "wb") as file:
        file.write(text)
    os.replace(hidden, path)


# --- what a model is of ---


def facts_text(facts: Mapping[str, Any]) -> bytes:
    """The text of STEM.model.json."""
    return (json.dumps(facts, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "replace")


def read_facts(stem: str, rank: int, shape: Sequence[int]) -> dict[str, Any]:
    """What STEM.model.json has about a model of this rank and shape; empty where there is none."""
    path = f"{stem}.model.json"
    try:
        with open(path, encoding="utf-8") as file:
            facts: dict[str, Any] = json.load(file)
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    if not isinstance(facts, dict) or facts.get("format") != 1:
        raise ValueError(f'{path}: not a description of a model that this blco knows, expected "format": 1')
    if (facts.get("rank"), [mode.get("length") for mode in facts.get("modes", [])]) != (rank, list(shape)):
        raise ValueError(f"{path}: of another model: expected rank {rank} and lengths {', '.join(map(str, shape))}")
    return facts


# --- the files of a stem ---


def write(stem: str, files: Mapping[str, np.ndarray | bytes]) -> None:
    """Writes STEM.SUFFIX for each suffix, all files or none, and removes what else an older model of the stem has
    left. Raises OutputError."""
    try:
        with _locked(stem) as lock:
            same, gone = _beside(stem, files)
            _replace(stem, lock, {suffix: some for suffix, some in files.items() if suffix not in same}, gone)
    except OSError as error:
        if isinstance(error, OutputError):
            raise
        raise OutputError(f"{stem}: cannot be written: {error.strerror}") from error


def _beside(stem: str, files: Mapping[str, np.ndarray | bytes]) -> tuple[list[str], list[str]]:
    """The maps that are there already, and the files of an older model that have no successor. Maps of a tensor of the
    stem, and those of the user, stay."""
    def is_there(suffix: str) -> bool:
        path = f"{stem}.{suffix}"
        return os.path.lexists(path) and (os.path.islink(path) or not os.path.isdir(path))

    tensor = next((f"{stem}.{ending}" for ending in ("blco", "tns", "tns.gz") if is_there(ending)), None)
    owned = tensor is None and is_there("modes.map")
    same = []
    for suffix in MAPS:
        path, text, there = f"{stem}.{suffix}", files.get(suffix), is_there(suffix)
        if there and text is not None:
            with open(path, "rb") as file:
                if file.read() == text:
                    same.append(suffix)
                    continue
        if tensor and (there or (text is not None and suffix != "modes.map")):
            raise OutputError(f"{path}: is for the names of {tensor}, which are not those of the model")
        if there and text is not None and not owned:
            raise OutputError(f"{path}: exists and is not of a model: move it away, or name another stem")
    return same, [suffix for suffix in [*MODEL, "json", *(MAPS if owned else [])] if is_there(suffix) and suffix not in files]


def _replace(stem: str, lock: int, files: Mapping[str, np.ndarray | bytes], gone: list[str]) -> None:
    """Writes the files under hidden names; then the log in the lock tells every reader and the next writer what
    counts, should this process be killed."""
    log = f"files {len(files) + len(gone)}\n"
    with contextlib.ExitStack() as hidden_files:
        for suffix, content in files.items():
            path, key = f"{stem}.{suffix}", _new_key()
            if os.path.exists(path) and not (os.path.isfile(path) and os.access(path, os.W_OK)):
                raise OutputError(f"{path}: cannot be written: it is not a regular file that may be written")
            hidden = _hidden(stem, key)
            file = hidden_files.enter_context(open(hidden, "xb"))
            hidden_files.callback(_unlink, hidden)
            with contextlib.suppress(OSError):  # there may be no locks here
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # else it looks like that of a killed process
            _write_content(file, content)
            log += f"{key} {'old' if os.path.lexists(path) else 'new'} {suffix}\n"
        log += "".join(f"{_new_key()} gone {suffix}\n" for suffix in gone) + "replace\n"
        os.pwrite(lock, log.encode(), os.fstat(lock).st_size)
        os.fsync(lock)
        named = hidden_files.pop_all()  # from now on the new files count
    _finish(stem, log)
    named.close()


def _write_content(file: BinaryIO, content: np.ndarray | bytes) -> None:
    if isinstance(content, bytes):
        file.write(content)
    else:
        np.save(file, content)
    file.flush()
    os.fsync(file.fileno())


def _finish(stem: str, log: str) -> None:
    """Does what a log says that is whole up to `replace` or `back`; otherwise the older files stay."""
    count = re.match(r"files (\d+)\n", log)
    lines = log.split("\n")[1:-1]
    files, rest = (lines[: int(count[1])], lines[int(count[1]) :]) if count else ([], [])
    back, whole = "back" in rest, "replace" in rest and "back" not in rest
    for key, old, suffix in re.findall(r"^([0-9a-f]{16}) (old|new|gone) ([^/\n]+)$", "\n".join(files), re.MULTILINE):
        path, hidden = f"{stem}.{suffix}", _hidden(stem, key)
        saved = hidden + "-old"
        if back and old == "new" and not os.path.lexists(hidden):
            _unlink(path)
        elif back and old != "new" and os.path.lexists(saved):
            os.replace(saved, path)
        elif whole and old == "gone":
            _unlink(path)
        elif whole and os.path.lexists(hidden):
            os.replace(hidden, path)
        _unlink(hidden)
        _unlink(saved)


@contextlib.contextmanager
def _locked(stem: str) -> Iterator[int]:
    """The lock of the stem, a descriptor; finishes first what a killed process has begun."""
    path = stem + ".lock"
    lock = _lock(path)
    try:
        text = os.pread(lock, 1 << 20, 0).decode("utf-8", "replace")
        if text and not text.startswith(HEAD):
            raise OutputError(f"{path}: cannot be written: it exists, and is no lock of blco")
        _finish(stem, text.partition("\n")[2])
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"{HEAD}{os.getpid()} on host {socket.gethostname()}\n".encode(), 0)
        try:
            yield lock
            os.unlink(path)
        except BaseException:
            if b"\nreplace\n" not in os.pread(lock, 1 << 20, 0):  # else the next holder finishes it
                os.unlink(path)
            raise
    finally:
        os.close(lock)


def _lock(path: str) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
    while True:
        created = True
        try:
            lock = os.open(path, flags | os.O_EXCL, 0o666)
        except FileExistsError:
            lock, created = os.open(path, flags, 0o666), False
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if created and not isinstance(error, BlockingIOError):
                return lock  # there are no locks here: the file itself is one
            holder = os.pread(lock, 1 << 12, 0).decode("utf-8", "replace").partition("\n")[0] or "another process"
            os.close(lock)
            raise OutputError(f"{path}: cannot be written: {holder} writes files of this stem") from error
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(lock), os.lstat(path)):
                return lock
        os.close(lock)  # its last holder has removed it


def _hidden(stem: str, key: str) -> str:
    return os.path.join(os.path.dirname(stem), ".blco-" + key)


def _new_key() -> str:
    """A random key, whose first half is a number of this host."""
    mark = 2166136261  # FNV-1a
    for byte in socket.gethostname().encode():
        mark = (mark ^ byte) * 16777619 & 0xFFFFFFFF
    return f"{mark:08x}{os.urandom(4).hex()}"


def _unlink(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)

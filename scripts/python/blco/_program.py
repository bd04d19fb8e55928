"""The program blco: where it is, and how it is run."""

from __future__ import annotations

import fcntl
import os
import pty
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
from pathlib import Path
from types import TracebackType
from typing import Any, Iterable, Mapping, Sequence

import numpy as np

from . import _notebook
from ._words import in_python


class Warning(UserWarning):
    """A finding that speaks against a result."""


class Error(Exception):
    """The program has failed; the message is its sentence, `status` the number with which it ended."""

    status = 1


class InputError(Error, ValueError):
    """A wrong option or a bad tensor."""

    status = 2


class MemoryLimitError(Error, MemoryError):
    """The work does not fit into memory."""

    status = 3


class NumericalError(Error, ArithmeticError):
    """The decomposition broke down."""

    status = 4


class OutputError(Error, OSError):
    """A file cannot be written."""

    status = 5


class NotConverged(Error):
    """require_converged was given, and the run has not converged; `model` is what it made."""

    status = 7
    model: Any = None


_ERRORS = {kind.status: kind for kind in (InputError, MemoryLimitError, NumericalError, OutputError, NotConverged)}
INTERRUPTED = (129, 130, 143)


class Folder:
    """A temporary folder for a `with` block. Should this process be killed, a shell removes it, once the programs that
    inherited `fds` have ended, too: then its standard input ends without the line that says that all is well."""

    def __enter__(self) -> Folder:
        self._folder = tempfile.TemporaryDirectory(prefix="blco-")
        self.path = self._folder.name + "/"
        try:
            self._shell = subprocess.Popen(["/bin/sh", "-c", 'read -r _ || rm -rf -- "$0"', self._folder.name], cwd="/",
                                           stdin=subprocess.PIPE, start_new_session=True)
        except BaseException:
            self._folder.cleanup()
            raise
        return self

    @property
    def fds(self) -> list[int]:
        return [self._shell.stdin.fileno()] if self._shell.stdin else []

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._shell.communicate(b"\n")
        self._folder.cleanup()


def program() -> str:
    """The path of the program: that of this package, else the one that PATH has."""
    own = Path(__file__).parent / "bin" / "blco"
    found = str(own) if own.exists() else shutil.which("blco")
    if not found:
        raise FileNotFoundError("the program blco is neither in this package nor in a folder that PATH names")
    return found


def main() -> None:
    """The command blco of an environment that has this package."""
    os.execv(program(), ["blco", *sys.argv[1:]])


def shows_progress() -> bool:
    """Whether standard error is a terminal or a notebook."""
    stream = sys.stderr
    return bool(stream is not None and getattr(stream, "isatty", lambda: False)()) or "ipykernel" in sys.modules


class Result:
    """What a run printed, and its exit status."""

    def __init__(self, status: int, output: bytes, message: str) -> None:
        self.status, self.output, self.message = status, output, message

    def error(self) -> Error:
        kind = _ERRORS.get(self.status, Error)
        error = kind(in_python(self.message) or f"the program blco ended with status {self.status}")
        error.status = self.status
        return error


def words_of(options: Mapping[str, Any]) -> list[str]:
    """Options as words of a command line; None and False are options that are not given."""
    words = []
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if value is None or value is False:
            continue
        if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):  # given once for each
            words += [f"{option}={key}={text_of(part)}" for key, part in value.items()]
        else:
            words.append(option if value is True else f"{option}={text_of(value)}")
    return words


def text_of(value: Any) -> str:
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return ",".join(f"{key}={text_of(part)}" for key, part in value.items())
    if isinstance(value, (list, tuple, np.ndarray, range)):
        return ",".join(text_of(part) for part in value)
    return str(value.item() if isinstance(value, np.generic) else value)


def without(folder: str, value: Any) -> Any:
    """A text, or what JSON has, without the name of a temporary folder."""
    if isinstance(value, str):
        return value.replace(folder, "")
    if isinstance(value, dict):
        return {name: without(folder, part) for name, part in value.items()}
    return [without(folder, part) for part in value] if isinstance(value, list) else value


def run(command: str, arguments: Sequence[str], *, progress: bool = False, pass_fds: Iterable[int] = (),
        hide: str = "") -> Result:
    """Runs a command of blco to its end. Ctrl-C ends the program as a signal does: blco cpd finishes its
    iteration and writes its model; a second Ctrl-C ends it at once. Where it then prints no result, Ctrl-C is
    KeyboardInterrupt as ever. The program ends when this process does. `hide`, the name of a temporary folder
    with a slash, is left out of messages."""
    words = [program(), command, *arguments] + ([] if progress else ["-q"])
    bar = _notebook.Bar() if progress else None
    master, slave = _terminal() if progress else (-1, subprocess.PIPE)
    environment = {**os.environ, "BLCO_PARENT": str(os.getpid())}
    if progress:
        environment["TERM"] = environment.get("TERM") or "xterm"
    with subprocess.Popen(words, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=slave,
                          pass_fds=tuple(pass_fds), start_new_session=True) as process:
        try:
            if progress:
                os.close(slave)
            reader = _Reader(process, master, hide, bar)
            status = reader.read()
        finally:
            if bar:
                bar.close()
            if progress:
                os.close(master)
            if process.poll() is None:
                process.kill()
    if reader.asked and status and not reader.output:
        raise KeyboardInterrupt
    prefix = f"blco {command}: "
    lines = [line[len(prefix):] for line in reader.errors if line.startswith(prefix)]
    return Result(status if status >= 0 else 128 - status, reader.output, lines[-1] if lines else reader.last)


def output_of(command: str, arguments: Sequence[str], *, pass_fds: Iterable[int], hide: str) -> bytes:
    """What a command prints. Raises Error where it fails."""
    result = run(command, arguments, pass_fds=pass_fds, hide=hide)
    if result.status:
        raise result.error()
    return result.output


def _terminal() -> tuple[int, int]:
    """A terminal of the program's own, on which it rewrites a line, so wide that it cuts none."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("4H", 25, 1000, 0, 0))
    return master, slave


class _Reader:
    """Reads both outputs of the program to their ends; a bar shows its progress."""

    def __init__(self, process: subprocess.Popen[bytes], terminal: int, hide: str, bar: _notebook.Bar | None) -> None:
        import selectors

        self.process, self.terminal, self.hide, self.bar = process, terminal, hide, bar
        self.output, self.last = b"", ""
        self.errors: list[str] = []
        self.asked = False  # by Ctrl-C, for the end
        self._chunks: list[bytes] = []
        self._line = b""
        self._selector = selectors.DefaultSelector()
        assert process.stdout
        self._selector.register(process.stdout.fileno(), selectors.EVENT_READ)
        self._stderr = terminal if terminal >= 0 else process.stderr.fileno() if process.stderr else -1
        self._selector.register(self._stderr, selectors.EVENT_READ)

    def read(self) -> int:
        while True:
            try:
                while self._selector.get_map():
                    for key, _ in self._selector.select():
                        self._take(key.fd)
                status = self.process.wait()
                break
            except KeyboardInterrupt:
                if self.asked:
                    self.process.kill()
                    raise
                self.asked = True
                self.process.send_signal(signal.SIGINT)
        self._end_line(b"")
        self._selector.close()
        self.output = b"".join(self._chunks)
        return status

    def _take(self, fd: int) -> None:
        try:
            data = os.read(fd, 1 << 16)
        except OSError:  # a terminal whose other end is closed
            data = b""
        if not data:
            self._selector.unregister(fd)
        elif fd == self._stderr:
            self._take_message(data)
        else:
            self._chunks.append(data)

    def _take_message(self, data: bytes) -> None:
        """Whole lines are kept, in case one is the error; of a line that is rewritten the last text is."""
        *lines, self._line = (self._line + data).split(b"\n")
        for line in lines:
            self._end_line(line + b"\n")
        self._line = self._line[max(self._line.rfind(b"\r", 0, -1), 0):]
        self._show(self._line)

    def _end_line(self, line: bytes) -> None:
        line, self._line = (self._line, b"") if not line else (line, self._line)
        plain = _plain(line, self.hide)
        if plain:
            self.last = plain
            self.errors.append(plain)
        self._show(line)

    def _show(self, line: bytes) -> None:
        if self.bar:
            self.bar.show(_plain(line, self.hide))


def _plain(line: bytes, hide: str) -> str:
    """The text of a line that was perhaps rewritten, without the name of a folder."""
    text = line.decode("utf-8", "replace").replace("\x1b[K", "").strip().rsplit("\r", 1)[-1]
    return text.replace(hide, "") if hide else text

"""Runs `hifi` as a user does, with its output captured: in this process, or in a separate one.

Use `Hifi` wherever a test checks a command's answer: starting Python and importing a command cost far more
than most commands. Use `HifiProcess` where the process matters: signals, a terminal, output while it runs,
several at once, permissions, output of a C library. Also use it once for each panel of the help page.
"""

import io
import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from scripts.cli.main import main

_PACKAGE: Final = "scripts.cli"
HIFI: Final = (sys.executable, "-m", _PACKAGE)
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_QUIETED: Final = "shared.kafka"
"""The logger that commands give a handler of their own."""

Done = subprocess.CompletedProcess[str]


def without_settings() -> dict[str, str]:
    """This process's environment without any HIFI_ setting."""
    return {name: value for name, value in os.environ.items() if not name.startswith("HIFI_")}


class Hifi:
    """The command in one folder, with an environment of its own, run in this process."""

    def __init__(self, folder: Path | None, environment: dict[str, str]) -> None:
        """`folder` is that of the side; None leaves it open which side is meant."""
        self._data = () if folder is None else ("--data", str(folder))
        self.environment = without_settings() | {"COLUMNS": "200"} | environment

    def run(self, *arguments: str, stdin: str = "") -> Done:
        """Run it to its end."""
        return run_here([*arguments, *self._data], self.environment, stdin)

    def json(self, *arguments: str) -> Any:
        """Run it with `--json`; it must succeed."""
        done = self.run(*arguments, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


class HifiProcess(Hifi):
    """The same as a process."""

    def run(self, *arguments: str, stdin: str = "", timeout: float = 300) -> Done:
        """Run it to its end; `timeout` in seconds."""
        return subprocess.run(
            [*HIFI, *arguments, *self._data],
            env=self.environment,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def begin(self, *arguments: str) -> "subprocess.Popen[str]":
        """Run it without waiting for its end; its output is to be read by `communicate`."""
        pipe = subprocess.PIPE
        return subprocess.Popen(
            [*HIFI, *arguments, *self._data], env=self.environment, stdout=pipe, stderr=pipe, text=True
        )


def run_here(arguments: Sequence[str], environment: dict[str, str], stdin: str = "") -> Done:
    """Run the command in this process; an exception that is none of its answers is raised."""
    with _own_process(arguments, environment, stdin) as (out, err):
        try:
            main()
            status: Any = None
        except SystemExit as end:
            status = end.code
    code = status if isinstance(status, int) else int(status is not None)
    said = [each.buffer.getvalue().decode() for each in (out, err)]
    return subprocess.CompletedProcess(list(arguments), code, *said)


class _Captured(io.TextIOWrapper):
    """Standard output or error, kept in memory and written through."""

    buffer: io.BytesIO

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", write_through=True)


@contextmanager
def _own_process(
    arguments: Sequence[str], environment: dict[str, str], stdin: str
) -> Iterator[tuple[_Captured, _Captured]]:
    """Give a command the surroundings of its own process, to change as it likes; then restore all."""
    out, err, root = _Captured(), _Captured(), logging.getLogger()
    handlers = {number: signal.getsignal(number) for number in _SIGNALS}
    own: dict[str, Any] = {
        "argv": ["__main__.py", *arguments],
        "stdin": io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8"),
        "stdout": out,
        "stderr": err,
        "excepthook": sys.excepthook,  # typer sets one
    }
    with (
        patch.dict(os.environ, environment, clear=True),
        patch.multiple(sys, **own),
        patch.multiple(sys.modules["__main__"], __package__=_PACKAGE),  # usage errors name the program by it
        # Those of pytest would keep from stderr what a process without handlers writes there.
        patch.multiple(root, handlers=[], level=logging.WARNING),
        patch.multiple(logging.getLogger(_QUIETED), handlers=[]),
    ):
        try:
            yield out, err
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)

"""`hifi` as a user runs it: a process with its output captured."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

HIFI: Final = (sys.executable, "-m", "scripts.cli")


def without_settings() -> dict[str, str]:
    """This process's environment without any HIFI_ setting."""
    return {name: value for name, value in os.environ.items() if not name.startswith("HIFI_")}


class Hifi:
    """The command in one folder, with an environment of its own."""

    def __init__(self, folder: Path | None, environment: dict[str, str]) -> None:
        """`folder` is that of the side; None leaves it open which side is meant."""
        self._data = () if folder is None else ("--data", str(folder))
        self.environment = without_settings() | {"COLUMNS": "200"} | environment

    def run(
        self, *arguments: str, stdin: str = "", timeout: float = 300
    ) -> "subprocess.CompletedProcess[str]":
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

    def json(self, *arguments: str) -> Any:
        """Run it with `--json`; it must succeed."""
        done = self.run(*arguments, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

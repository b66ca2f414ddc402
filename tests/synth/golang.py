"""Modules and commands from Go's module proxy, cached for the user; without them tests skip."""

import json
import os
import subprocess
from pathlib import Path
from shutil import which
from typing import Final

import pytest

_CACHE: Final = Path.home() / ".cache" / "hifi" / "go"


def module(name: str, checksum: str) -> Path:
    """The folder of a module, `path@version`, after checking its checksum."""
    said = json.loads(_go("mod", "download", "-json", name).stdout)
    assert said["Sum"] == checksum, f"{name}: checksum is {said['Sum']}, not {checksum}"
    return Path(said["Dir"])


def command(package: str) -> str:
    """The path of the command built from a package, `path@version`."""
    path, _, version = package.partition("@")
    folder = _CACHE / "bin" / version
    made = folder / Path(path).name
    if not made.exists():
        _go("install", package, GOBIN=str(folder))
    return str(made)


def _go(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    go = which("go")
    if go is None:
        pytest.skip(f"no go to fetch {arguments[-1]}: install it (https://go.dev/doc/install)")
    own = {"GOMODCACHE": str(_CACHE / "mod"), "GOFLAGS": "-modcacherw"}
    done = subprocess.run(
        [go, *arguments],
        env={**os.environ, **own, **variables},
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    if done.returncode != 0:
        pytest.skip(f"go cannot fetch {arguments[-1]} here: {done.stdout[-300:]}{done.stderr[-300:]}")
    return done

"""Obstacles that keep a version from running on a local side, found before any of its programs is started."""

import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from pipelines.control.backends.checkpoints import query_positions
from pipelines.control.deploy.backend import Obstacle
from pipelines.control.readability.answer import MODULE, READS_ALL, Answer, Reading, unread
from pipelines.control.readability.recording import Recording, last_records, write
from scripts.local.side import Code, Side
from scripts.local.twins.folder_checkpoints import FolderCheckpoints
from scripts.local.twins.version_names import may_move
from scripts.local.twins.version_python import run_python, source_of
from scripts.local.twins.versions import NoVersionError, code_of, commit_of
from shared.contracts.topology import INPUTS
from shared.runtime.program_output import last_line

_SECONDS: Final = 900
"""A check takes half a minute of a core of its own, and gets a fifth of one beside a side that needs both."""

_MODULES: Final = (
    "scripts.local.processes.driver",
    "pipelines.data.collect.service",
    "pipelines.data.retry.service",
    "pipelines.control.observe.service",
    "pipelines.control.provision.service",
)
"""The modules that the programs of a side begin with."""

_READABILITY: Final = Path(*MODULE.split("."), "__main__.py")
"""A version without it is older than this check: it is only imported."""


def version_obstacles(version: str, folder: Path, target: Side, serving: Side) -> Sequence[Obstacle]:
    """Whether a version exists under a name that stays its own, can be imported with this checkout's
    packages, and reads what was written.

    Args:
        version: name of the version.
        folder: of the code of all versions.
        target: the side that is to run it.
        serving: the side with the version that serves; `version` has to read its records.

    Raises:
        KafkaException, TimeoutError: if the brokers of a side do not answer, or it takes too long.
    """
    try:
        if may_move(version):
            # It would be resolved again at each start: the way back would lead to other code.
            text = f"{version} may come to mean another commit: deploy its commit, {commit_of(version)}"
            return [Obstacle(text=text, lasting=True)]
        code = code_of(version, folder)
    except NoVersionError as error:
        return [Obstacle(text=str(error), lasting=True)]
    trouble = _import_trouble(code)
    if trouble:
        return [Obstacle(text=f"version {version} cannot be imported: {trouble}", lasting=True)]
    return [
        Obstacle(text=f"version {version} {text}", lasting=True)
        for text in _unreadable(code, target, serving)
    ]


def _unreadable(code: Code, target: Side, serving: Side) -> Sequence[str]:
    known = {side.code.version for side in (target, serving) if side.code is not None}
    if known == {code.version} or not (source_of(code) / _READABILITY).exists():
        return []
    try:
        found = _recording((target, serving), target)
    except ValueError as error:
        return [f"cannot read the checkpoints of {target.name}: {error}"]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "recording"
        write(found, file)
        new = _answer(code, file)
        old = _answer(serving.code or Code(version=""), file) if new.refuses else READS_ALL
        return unread(new, old, serving.name)


def _recording(sides: Sequence[Side], target: Side) -> Recording:
    queries = query_positions(FolderCheckpoints(target.checkpoints), INPUTS)
    return Recording(records=[r for side in sides for r in last_records(side.bootstrap)], queries=queries)


def _answer(code: Code, file: Path) -> Answer:
    """A version's answer about a recording."""
    done = _python(code, "-m", MODULE, str(file))
    if done.returncode:
        return Answer(None, last_line(done.stderr))
    return Answer(msgspec.json.decode(done.stdout.splitlines()[-1], type=Reading))


def _import_trouble(code: Code) -> str:
    done = _python(code, "-c", f"import {', '.join(_MODULES)}")
    return last_line(done.stderr) if done.returncode else ""


def _python(code: Code, *arguments: str) -> "subprocess.CompletedProcess[str]":
    try:
        return run_python(code, *arguments, seconds=_SECONDS)
    except TimeoutError as error:
        raise TimeoutError(f"version {code.version} was not checked: {error}") from error

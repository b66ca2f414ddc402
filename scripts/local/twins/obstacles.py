"""What keeps a version from running on a local side, as far as it is known without starting it."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pipelines.control.deploy.backend import Obstacle
from scripts.local.twins.versions import CHECKOUT, NoVersionError, code_of

_SECONDS: Final = 120
_MODULES: Final = (
    "scripts.local.processes.driver",
    "pipelines.data.collect.service",
    "pipelines.data.retry.service",
    "pipelines.control.observe.service",
    "pipelines.control.provision.service",
)
"""What the programs of a side begin with."""


def version_obstacles(version: str, folder: Path) -> Sequence[Obstacle]:
    """Whether a version exists, and can be imported with this checkout's packages.

    Args:
        version: name of the version.
        folder: of the code of all versions.
    """
    try:
        code = code_of(version, folder)
    except NoVersionError as error:
        return [Obstacle(text=str(error), lasting=True)]
    source = code.source or CHECKOUT
    program = f"import sys; sys.path.insert(0, {str(source)!r}); import {', '.join(_MODULES)}"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=source,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=_SECONDS,
    )
    if not done.returncode:
        return []
    last = (done.stderr.strip().splitlines() or ["no output"])[-1]
    return [Obstacle(text=f"version {version} cannot be imported: {last}", lasting=True)]

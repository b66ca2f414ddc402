"""Every environment, synthesised once for all tests of a run."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from shutil import which

import pytest

from tests.synth.terraform import Stack

ENVIRONMENTS = ("local", "staging", "production")
Folder = Callable[[str], Path]
Synthesised = Callable[[str], dict[str, Stack]]


@pytest.fixture(scope="session")
def synthesised_folder(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """A function from an environment's name to the folder of its stacks."""
    if which("node") is None:
        pytest.skip("no node: install Node.js 20 or newer (apt-get install nodejs) to synthesise the stacks")

    @cache
    def synthesise(name: str) -> Path:
        # Imported late, since the import starts Node.js.
        from cdktf import App  # noqa: PLC0415

        from infra.config import EnvironmentName, RunSettings, load_environment, load_weights  # noqa: PLC0415
        from infra.main import declare  # noqa: PLC0415

        run = RunSettings(environment=EnvironmentName(name))
        app = App(outdir=str(tmp_path_factory.mktemp(name)))
        declare(app, load_environment(run), load_weights(run.weights))
        app.synth()
        return Path(app.outdir) / "stacks"

    return synthesise


@pytest.fixture(scope="session")
def synthesised(synthesised_folder: Folder) -> Synthesised:
    """A function from an environment's name to {stack: its Terraform JSON}."""

    @cache
    def read(name: str) -> dict[str, Stack]:
        files = synthesised_folder(name).glob("*/cdk.tf.json")
        return {file.parent.name: json.loads(file.read_text()) for file in files}

    return read

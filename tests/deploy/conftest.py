"""A local AWS and the stacks synthesised for it, once a run."""

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from shutil import which

import pytest

from tests.deploy.aws.server import LocalAws, serving

Synthesise = Callable[[], Path]


@pytest.fixture(scope="session")
def aws() -> Iterator[LocalAws]:
    """The local AWS, empty, on a free port."""
    with serving() as local:
        yield local


@pytest.fixture(scope="session")
def synthesise(aws: LocalAws, tmp_path_factory: pytest.TempPathFactory) -> Synthesise:
    """A function that returns the folder of the stacks, all with one state."""
    _need("node", "apt-get install nodejs npm")
    state = tmp_path_factory.mktemp("state")

    @cache
    def synthesise() -> Path:
        # Imported late, as the import starts node.
        from cdktf import App  # noqa: PLC0415

        from infra.config import RunSettings, load_environment  # noqa: PLC0415
        from infra.main import declare  # noqa: PLC0415

        folder = tmp_path_factory.mktemp("stacks")
        run = RunSettings.model_validate({"aws_endpoint": aws.endpoint, "state_folder": state})
        app = App(outdir=str(folder))
        declare(app, load_environment(run))
        app.synth()
        return folder

    return synthesise


@pytest.fixture(scope="session")
def terraform_command() -> str:
    """The path of terraform; skips with instructions if it is missing."""
    return _need("terraform", "https://developer.hashicorp.com/terraform/install, or apt from HashiCorp")


def _need(command: str, source: str) -> str:
    found = which(command)
    if found is None:
        pytest.skip(f"no {command}: install it ({source}) to apply the stacks to a local AWS")
    return found

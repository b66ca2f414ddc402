"""Every environment, synthesised once for all tests of a run."""

import json
from collections.abc import Callable
from functools import cache
from ipaddress import IPv4Network
from pathlib import Path
from shutil import which

import pytest

from infra.config import Environment, EnvironmentName, RunSettings, load_environment
from infra.exposure import Exposure
from infra.management import ManagementSettings
from tests.synth.terraform import Stack

ENVIRONMENTS = ("local", "staging", "production")
INTERNAL = "internal"
"""Production without an address on the internet."""

UNPROTECTED = "unprotected"
"""Production in the state that is deployed before its destruction."""

Folder = Callable[[str], Path]
Synthesised = Callable[[str], dict[str, Stack]]


def settings(name: str) -> Environment:
    """Settings of an environment, of `INTERNAL` or of `UNPROTECTED`."""
    if name not in (INTERNAL, UNPROTECTED):
        return load_environment(RunSettings(environment=EnvironmentName(name)))
    production = load_environment(RunSettings(environment=EnvironmentName.PRODUCTION))
    if name == UNPROTECTED:
        return production.model_copy(update={"protected": False})
    ranges = production.network.model_copy(update={"client_ranges": [IPv4Network("10.0.0.0/8")]})
    changes = {
        "exposure": Exposure.INTERNAL,
        "management": ManagementSettings(
            exposure=Exposure.INTERNAL, client_ranges=[IPv4Network("10.0.0.0/8")]
        ),
        "network": ranges,
        "privatelink_principals": ["arn:aws:iam::333333333333:root"],
    }
    return Environment.model_validate(production.model_copy(update=changes).model_dump())


def foundation(environment: Environment, folder: Path) -> Stack:
    """The stack `foundation` of an environment, synthesised in a folder. Starts Node.js."""
    from cdktf import App  # noqa: PLC0415

    from infra.stacks.foundation import FoundationStack  # noqa: PLC0415

    app = App(outdir=str(folder))
    FoundationStack(app, "foundation", environment=environment)
    app.synth()
    made: Stack = json.loads((folder / "stacks" / "foundation" / "cdk.tf.json").read_text())
    return made


@pytest.fixture(scope="session")
def synthesised_folder(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """A function from an environment's name to the folder of its stacks."""
    if which("node") is None:
        pytest.skip("no node: install Node.js 20 or newer (apt-get install nodejs) to synthesise the stacks")

    @cache
    def synthesise(name: str) -> Path:
        # Imported late, since the import starts Node.js.
        from cdktf import App  # noqa: PLC0415

        from infra.main import declare  # noqa: PLC0415

        app = App(outdir=str(tmp_path_factory.mktemp(name)))
        declare(app, settings(name))
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

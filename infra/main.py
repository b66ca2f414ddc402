"""Writes the Terraform of every stack to cdktf's output folder: `python -m infra.main`."""

import sys

from cdktf import App

from infra.config import Environment, InvalidSettingsError, load_environment, load_run
from infra.naming import Side
from infra.stacks.edge import EdgeStack
from infra.stacks.foundation import FoundationStack
from infra.stacks.twin import TwinStack


def declare(app: App, environment: Environment) -> None:
    """Declare every stack of an environment."""
    FoundationStack(app, "foundation", environment=environment)
    TwinStack(app, "blue", environment=environment, side=Side.BLUE)
    TwinStack(app, "green", environment=environment, side=Side.GREEN)
    EdgeStack(app, "edge", environment=environment)


def main() -> None:
    """Synthesise the environment of this run; invalid settings end it before anything is written."""
    try:
        environment = load_environment(load_run())
    except InvalidSettingsError as error:
        sys.exit(str(error))
    app = App()
    declare(app, environment)
    app.synth()


if __name__ == "__main__":
    main()

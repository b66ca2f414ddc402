"""The `hifi` command: one module a verb.

A verb is `scripts/verbs/<verb>.py` with a function of that name, annotated for typer. Such a module imports
only the standard library and typer at its top; whatever is heavy (Spark, Kafka, aiohttp) it imports inside
the function, so that `hifi --help` is instant.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import Final

import typer

VERBS: Final = {
    "up": "The local side",
    "down": "The local side",
    "doctor": "The local side",
    "demo": "The local side",
    "apply": "Configuration",
    "get": "Configuration",
    "delete": "Configuration",
    "send": "Load",
    "receive": "Load",
    "bench": "Load",
}
"""Every verb and the panel of the help page it stands in."""


def application() -> typer.Typer:
    """The command with every verb whose module exists."""
    app = typer.Typer(
        name="hifi",
        help="High-fidelity streams: events over HTTP, delivered to every destination, with proof.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_show_locals=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    for verb, panel in VERBS.items():
        name = f"scripts.verbs.{verb}"
        if find_spec(name):
            app.command(verb, rich_help_panel=panel)(getattr(import_module(name), verb))
    return app


def main() -> None:
    """Entry point."""
    application()()


if __name__ == "__main__":
    main()

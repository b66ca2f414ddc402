"""The `hifi` command: one module a command.

A command is `scripts/cli/commands/<name>.py`, `_` for a hyphen, with a function of that name, annotated for
typer, and its docstring is the help. Where a verb has verbs of its own, the module has GROUP too, their typer
application, of which the function is the callback. Only the module of the verb in use is imported; the page
that lists all verbs reads their docstrings from the source, so that it is instant whatever they import.
"""

import ast
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, Final

import typer

from scripts.terminal import run_command

COMMANDS: Final = {
    "up": "The local side",
    "down": "The local side",
    "doctor": "The local side",
    "demo": "The local side",
    "apply": "Configuration",
    "get": "Configuration",
    "delete": "Configuration",
    "destinations": "Delivery",
    "dead-letters": "Delivery",
    "scorecard": "Meter",
    "trace": "Meter",
    "send": "Load",
    "receive": "Load",
    "bench": "Load",
    "trial": "Load",
}
"""Every verb and the panel of the help page it stands in."""


def application(arguments: Sequence[str]) -> typer.Typer:
    """The command; of the verbs only the one that the arguments name is imported."""
    app = typer.Typer(
        name="hifi",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_show_locals=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_options)
    wanted = next((each for each in arguments if not each.startswith("-")), None)
    for verb, panel in COMMANDS.items():
        name = verb.replace("-", "_")
        spec = find_spec(f"scripts.cli.commands.{name}")
        if verb == wanted:
            _add(app, verb, import_module(f"scripts.cli.commands.{name}"), panel)
        elif spec and spec.origin:
            app.command(verb, rich_help_panel=panel)(_described(name, Path(spec.origin)))
    return app


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"hifi {version('hifi')}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True),
    ] = False,
) -> None:
    """High-fidelity streams: events over HTTP, delivered to every destination, with proof."""


def _add(app: typer.Typer, verb: str, module: ModuleType, panel: str) -> None:
    group: typer.Typer | None = getattr(module, "GROUP", None)
    if group is not None:
        app.add_typer(group, name=verb, rich_help_panel=panel)
    else:
        app.command(verb, rich_help_panel=panel)(getattr(module, verb))


def _described(verb: str, source: Path) -> Callable[..., Any]:
    """A stand-in with the verb's help."""
    functions = (node for node in ast.parse(source.read_bytes()).body if isinstance(node, ast.FunctionDef))
    found = next((node for node in functions if node.name == verb), None)

    def stand_in() -> None:
        raise AssertionError(f"{verb} was described, not imported")

    stand_in.__doc__ = ast.get_docstring(found) if found else None
    return stand_in


def main() -> None:
    """Entry point."""
    run_command(application(sys.argv[1:]))


if __name__ == "__main__":
    main()

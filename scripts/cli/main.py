"""The `hifi` command: one module for each of its commands.

A command is the module `scripts/cli/commands/<name>.py` (`_` for a hyphen, and after a keyword), with a
function of that name. Its parameters are typer options, its docstring is the help. The module of a command
with subcommands also has GROUP, their typer application; the function is its callback. Only the module of the
command in use is imported. The page that lists all commands reads their docstrings from the source, so that
it is instant.
"""

import ast
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from keyword import iskeyword
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, Final

import typer

from scripts.terminal import run_command

COMMANDS: Final = {
    "up": "The local side",
    "down": "The local side",
    "doctor": "The local side",
    "maintenance": "The local side",
    "scale": "The local side",
    "demo": "The local side",
    "deploy": "Releases",
    "rollback": "Releases",
    "switch": "Releases",
    "burst": "Releases",
    "sides": "Releases",
    "apply": "Configuration",
    "get": "Configuration",
    "diff": "Configuration",
    "delete": "Configuration",
    "history": "Configuration",
    "revert": "Configuration",
    "rollout": "Configuration",
    "try": "Configuration",
    "keys": "Configuration",
    "tokens": "Configuration",
    "members": "Configuration",
    "invite": "Configuration",
    "login": "Configuration",
    "context": "Configuration",
    "destinations": "Delivery",
    "tail": "Delivery",
    "dead-letters": "Delivery",
    "scorecard": "Meter",
    "trace": "Meter",
    "send": "Load",
    "receive": "Load",
    "bench": "Load",
    "trial": "Load",
}
"""Every command, and its panel on the help page."""


def application(arguments: Sequence[str]) -> typer.Typer:
    """The command-line application; only the command that the arguments name is imported.

    Where they begin with it, it is the only one: to read what the page of all commands says takes 0.1 s.
    """
    app = typer.Typer(
        name="hifi",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_show_locals=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_options)
    wanted = next((each for each in arguments if not each.startswith("-")), None)
    first = arguments[0] if arguments else ""
    for command, panel in ({first: COMMANDS[first]} if first in COMMANDS else COMMANDS).items():
        name = module_name(command)
        spec = find_spec(f"scripts.cli.commands.{name}")
        if command == wanted:
            _add(app, command, import_module(f"scripts.cli.commands.{name}"), panel)
        elif spec and spec.origin:
            app.command(command, rich_help_panel=panel)(_described(name, Path(spec.origin)))
    return app


def module_name(command: str) -> str:
    """The module, and the function in it, of a command."""
    name = command.replace("-", "_")
    return f"{name}_" if iskeyword(name) else name


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version  # noqa: PLC0415 - with e-mail's parser, for this alone

        print(f"hifi {version('hifi')}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True),
    ] = False,
) -> None:
    """High-fidelity streams: events over HTTP, delivered to every destination, with proof."""


def _add(app: typer.Typer, command: str, module: ModuleType, panel: str) -> None:
    group: typer.Typer | None = getattr(module, "GROUP", None)
    if group is not None:
        app.add_typer(group, name=command, rich_help_panel=panel)
    else:
        app.command(command, rich_help_panel=panel)(getattr(module, module_name(command)))


def _described(command: str, source: Path) -> Callable[..., Any]:
    """A placeholder that has the command's help."""
    functions = (node for node in ast.parse(source.read_bytes()).body if isinstance(node, ast.FunctionDef))
    found = next((node for node in functions if node.name == command), None)

    def placeholder() -> None:
        raise AssertionError(f"command {command!r} was listed, not imported")

    placeholder.__doc__ = ast.get_docstring(found) if found else None
    return placeholder


def main() -> None:
    """Entry point."""
    run_command(application(sys.argv[1:]))


if __name__ == "__main__":
    main()

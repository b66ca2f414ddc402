"""The commands that the application knows, by arguments."""

import pytest
from typer.main import get_command

from scripts.cli.main import COMMANDS, application
from scripts.local.addresses import PORTS


def known(*arguments: str) -> set[str | None]:
    app = application(arguments)
    return {each.name for each in app.registered_commands} | {each.name for each in app.registered_groups}


def test_a_command_is_set_up_without_reading_the_others() -> None:
    assert known("get", "pipe", "apply") == {"get"}


@pytest.mark.parametrize("arguments", [(), ("--help",), ("--help", "get"), ("gett",)])
def test_a_page_of_all_commands_names_each(arguments: tuple[str, ...]) -> None:
    assert known(*arguments) == set(COMMANDS)


@pytest.mark.parametrize("command", ["up", "demo"])
def test_the_help_of_a_first_port_says_how_many_follow(command: str) -> None:
    found = get_command(application((command,))).commands[command]  # type: ignore[attr-defined]
    (port,) = (option.help for option in found.params if option.name == "port")
    assert f"First of {PORTS} ports" in port

"""Which commands the application knows for which arguments."""

import pytest

from scripts.cli.main import COMMANDS, application


def known(*arguments: str) -> set[str | None]:
    app = application(arguments)
    return {each.name for each in app.registered_commands} | {each.name for each in app.registered_groups}


def test_a_command_is_set_up_without_reading_the_others() -> None:
    assert known("get", "pipe", "apply") == {"get"}


@pytest.mark.parametrize("arguments", [(), ("--help",), ("--help", "get"), ("gett",)])
def test_a_page_of_all_commands_names_each(arguments: tuple[str, ...]) -> None:
    assert known(*arguments) == set(COMMANDS)

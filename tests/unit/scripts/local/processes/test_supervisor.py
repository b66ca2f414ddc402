"""The configuration of supervisord."""

import configparser
import sys
from pathlib import Path

import pytest

from scripts.local.processes.program import Program
from scripts.local.processes.programs import BROKERS, COLLECT, RETRY
from scripts.local.processes.spark_programs import SPARK
from scripts.local.processes.supervisor import configuration


def _program(name: str, group: str, order: int) -> Program:
    return Program(
        name=name, command=["x"], environment={}, group=group, order=order, start_seconds=1, stop_seconds=7
    )


@pytest.fixture
def parsed() -> configparser.RawConfigParser:
    programs = [_program(name, "brokers", 10) for name in BROKERS]
    programs += [_program(SPARK, SPARK, 20), _program(RETRY, RETRY, 25), _program(COLLECT, COLLECT, 30)]
    parser = configparser.RawConfigParser()
    parser.read_string(configuration(programs, sys.executable))
    return parser


def test_collect_stops_first_and_the_brokers_last_and_together(parsed: configparser.RawConfigParser) -> None:
    priorities = {name: parsed.getint(f"group:{name}", "priority") for name in ("brokers", SPARK, COLLECT)}
    assert sorted(priorities, key=priorities.__getitem__, reverse=True) == [COLLECT, SPARK, "brokers"]
    assert parsed.get("group:brokers", "programs").split(",") == list(BROKERS)


@pytest.mark.parametrize("name", [*BROKERS, SPARK, RETRY, COLLECT])
def test_a_program_that_ends_is_always_restarted(parsed: configparser.RawConfigParser, name: str) -> None:
    section = f"program:{name}"
    assert parsed.getboolean(section, "autorestart")
    assert parsed.getint(section, "startretries") >= 100_000


@pytest.mark.parametrize("name", [*BROKERS, SPARK, RETRY, COLLECT])
def test_sigkill_reaches_the_children_too(parsed: configparser.RawConfigParser, name: str) -> None:
    assert parsed.getboolean(f"program:{name}", "killasgroup")


def test_a_percent_sign_in_the_interpreters_path_is_kept(tmp_path: Path) -> None:
    text = configuration([_program("p", "g", 1)], str(tmp_path / "a%b" / "python"))
    assert "a%%b" in text

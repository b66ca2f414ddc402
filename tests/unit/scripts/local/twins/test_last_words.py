"""The reason for a program's end, from the end of its log."""

import json
from pathlib import Path
from typing import Any

import pytest

from scripts.local.twins.last_words import last_words


def _log(folder: Path, *lines: str | dict[str, Any]) -> Path:
    path = folder / "program.log"
    path.write_text("".join((each if isinstance(each, str) else json.dumps(each)) + "\n" for each in lines))
    return path


def test_an_uncaught_error_is_said_in_its_own_words(tmp_path: Path) -> None:
    trace = 'Traceback (most recent call last):\n  File "a.py", line 3\nRuntimeError: no zone'
    ended = {"level": "CRITICAL", "message": "process ended by an uncaught error", "exc_info": trace}
    after = {"level": "INFO", "message": "started"}
    assert last_words(_log(tmp_path, {"level": "ERROR", "message": "older"}, ended, after)) == (
        "RuntimeError: no zone"
    )


def test_what_stopped_a_query_is_not_hidden_by_what_its_end_cut_off(tmp_path: Path) -> None:
    ended = {"level": "ERROR", "logger": "shared.spark.application", "message": "query ended"}
    cut_off = {"level": "ERROR", "logger": "org.apache.spark.util.Utils", "message": "Aborting task"}
    error = "There are [1]\n sources\n=== Streaming Query ===\nIdentifier: transmit"
    found = last_words(_log(tmp_path, ended | {"error": error}, cut_off))
    assert found == "There are [1] sources"


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (
            ["Traceback (most recent call last):", "ImportError: cannot import name 'x'"],
            "ImportError: cannot",
        ),
        ([{"level": "ERROR", "message": "port 8080 is taken"}], "port 8080 is taken"),
        ([{"level": "INFO", "message": "stopped"}], ""),
        ([], ""),
    ],
)
def test_anything_else_is_said_as_it_is(lines: list[str | dict[str, Any]], said: str, tmp_path: Path) -> None:
    found = last_words(_log(tmp_path, *lines))
    assert found.startswith(said)
    assert bool(found) == bool(said)


def test_a_log_that_is_not_there_says_nothing_and_a_long_one_is_cut(tmp_path: Path) -> None:
    assert last_words(tmp_path / "none.log") == ""
    assert len(last_words(_log(tmp_path, "x" * 1_000))) < 600

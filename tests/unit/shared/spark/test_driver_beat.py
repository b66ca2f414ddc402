"""A working driver sends beats while its JVM answers, whatever the file system refuses."""

import logging
import resource
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from shared.spark.driver_beat import beat, beat_until, last_beat


class JvmEndedError(Exception):
    """Raised by calls to an ended JVM."""


@contextmanager
def no_room_on_the_disk() -> Iterator[None]:
    """This process cannot write a byte to any file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_each_beat_differs_from_the_one_before(tmp_path: Path) -> None:
    file, seen = tmp_path / "7.beat", set[str]()
    assert last_beat(file) == ""
    for number in range(3):
        beat(file, number)
        seen.add(last_beat(file))
    assert len(seen) == 3


def test_a_driver_beats_on_a_full_disk(tmp_path: Path) -> None:
    file = tmp_path / "7.beat"
    with no_room_on_the_disk():
        with pytest.raises(OSError, match="File too large"):
            (tmp_path / "any").write_text("1")
        beat(file, 1)
        first = last_beat(file)
        beat(file, 2)
        assert last_beat(file) not in {"", first}


def test_what_the_file_system_refuses_is_tried_again_and_said_once(caplog: pytest.LogCaptureFixture) -> None:
    ended, tried = threading.Event(), list[int]()

    def show(number: int) -> None:
        tried.append(number)
        if len(tried) == 5:
            ended.set()
        if len(tried) < 4:
            raise OSError("Input/output error")

    with caplog.at_level(logging.WARNING):
        beat_until(ended, lambda: None, show, seconds=0)
    assert tried == [0, 1, 2, 3, 4]
    assert len(caplog.records) == 1


def test_a_jvm_that_has_ended_ends_the_beats() -> None:
    shown: list[int] = []

    def answers() -> None:
        if len(shown) == 2:
            raise JvmEndedError

    with pytest.raises(JvmEndedError):
        beat_until(threading.Event(), answers, shown.append, seconds=0)
    assert shown == [0, 1]

"""Executors' output is copied once to the output of the worker's pod."""

from pathlib import Path

import pytest

from shared.spark.executor_logs import ExecutorLogs, pass_on


@pytest.fixture
def executor(tmp_path: Path) -> Path:
    """The folder of the first executor of an application."""
    folder = tmp_path / "app-20260101000000-0000" / "0"
    folder.mkdir(parents=True)
    return folder


def look(logs: ExecutorLogs) -> list[bytes]:
    found: list[bytes] = []
    logs.look(found.append)
    return found


def test_each_finished_line_is_passed_on_once(tmp_path: Path, executor: Path) -> None:
    logs = ExecutorLogs(tmp_path)
    assert look(logs) == []
    with (executor / "stderr").open("wb", buffering=0) as file:
        file.write(b"one\ntwo\nthr")
        assert look(logs) == [b"one", b"two"]
        file.write(b"ee\n")
        assert look(logs) == [b"three"]
        assert look(logs) == []


def test_lines_before_and_after_spark_rolls_the_file_arrive(tmp_path: Path, executor: Path) -> None:
    logs = ExecutorLogs(tmp_path)
    stderr = executor / "stderr"
    stderr.write_bytes(b"old\n")
    assert look(logs) == [b"old"]
    with stderr.open("ab") as file:
        file.write(b"last of the old\n")
    stderr.rename(executor / "stderr--2026-01-01--00-00-00--0000")
    stderr.write_bytes(b"new\n")
    assert sorted(look(logs)) == [b"last of the old", b"new"]


def test_a_new_executors_lines_arrive_and_a_deleted_ones_folder_is_forgotten(
    tmp_path: Path, executor: Path
) -> None:
    logs = ExecutorLogs(tmp_path)
    (executor / "stdout").write_bytes(b"a\n")
    assert look(logs) == [b"a"]
    (executor / "stdout").unlink()
    second = executor.parent / "1"
    second.mkdir()
    (second / "stderr").write_bytes(b"b\n")
    assert look(logs) == [b"b"]
    assert look(logs) == []


def test_a_very_long_line_is_cut_and_not_kept_in_memory(tmp_path: Path, executor: Path) -> None:
    logs = ExecutorLogs(tmp_path)
    (executor / "stderr").write_bytes(b"x" * 100_000 + b"\n")
    found = look(logs)
    assert b"".join(found) == b"x" * 100_000
    assert max(map(len, found)) <= 64 * 1024


def test_only_objects_are_passed_on_as_they_are(
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    pass_on(b'{"level": "info"}')
    assert capfd.readouterr().err == '{"level": "info"}\n'
    pass_on(b"Traceback (most recent call last):")
    assert "Traceback" in caplog.text

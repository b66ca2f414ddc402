"""Errors are printed on one line of stderr, with an exit status and without a traceback."""

import ctypes
import errno
import os
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from scripts.local.lock import held
from scripts.local.ports import free_base
from scripts.local.side import Side
from scripts.local.twins.place import Twins
from shared.kafka.admin import admin_client
from shared.kafka.errors import KafkaUnavailableError, kafka_errors_explained
from tests.harness.command_line import HIFI, Done, run_here, without_settings

NOWHERE = "http://127.0.0.1:9"
PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 24, 1, 2
SEND = ("send", "--key", "k", "--seconds", "0.1")


def obey_file_modes() -> None:
    """Make file modes apply to root too after the next exec."""
    for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
        ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, capability)


def failed(arguments: Sequence[object], **environment: str) -> tuple[int, str]:
    """Exit status and stderr line of a command that fails."""
    return answer(run_here([*map(str, arguments)], without_settings() | environment))


def failed_process(arguments: Sequence[object]) -> tuple[int, str]:
    """The same for a process, with the Kafka client's stderr; file modes apply to it."""
    return answer(
        subprocess.run(
            [*HIFI, *map(str, arguments)],
            env=without_settings(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
            preexec_fn=obey_file_modes,
        )
    )


def answer(done: Done) -> tuple[int, str]:
    (line,) = done.stderr.splitlines()
    return done.returncode, line


@pytest.mark.parametrize(
    "command",
    [
        ("dead-letters", "list"),
        ("trial", "outage"),
    ],
)
def test_a_side_without_brokers_is_named_with_the_command_that_starts_it(
    command: Sequence[str], tmp_path: Path
) -> None:
    Side(root=tmp_path, port=free_base()).create()
    status, line = failed_process([*command, "--data", tmp_path])
    assert status == 1
    assert line.startswith("error the side is not running: no broker answers at 127.0.0.1:")
    assert "start it with `hifi up`" in line


@pytest.mark.parametrize(
    "command", [("get",), ("delete", "pipe", "orders"), ("apply", "scripts/samples/first.yaml")]
)
def test_a_side_without_a_management_api_is_named_with_the_command_that_starts_it(
    command: Sequence[str], tmp_path: Path
) -> None:
    Side(root=tmp_path, port=free_base()).create()
    status, line = failed([*command, "--data", tmp_path])
    assert status == 1
    assert line.startswith("error the side is not running: no management API answers at http://127.0.0.1:")
    assert "start it with `hifi up`" in line


@pytest.mark.parametrize(
    "command", [("get",), SEND, ("scorecard",), ("destinations",), ("trial", "retry-cost")]
)
def test_a_folder_without_a_side_is_named(command: Sequence[str], tmp_path: Path) -> None:
    status, line = failed([*command, "--data", tmp_path])
    assert status == 1
    assert f"no side in {tmp_path}: start one with `hifi up --data {tmp_path}`" in line


@pytest.mark.parametrize("command", ["up", "demo"])
def test_a_folder_of_twins_is_no_folder_for_a_side_by_itself(command: str, tmp_path: Path) -> None:
    Twins(root=tmp_path).create()
    with socket.create_server(("127.0.0.1", 0)) as taken:  # a side could not start
        status, line = failed([command, "--data", tmp_path, "--port", taken.getsockname()[1]])
    assert status == 2
    assert f"{tmp_path} belongs to twins: start them by `hifi up --twins --data {tmp_path}`" in line
    assert not (tmp_path / "side.json").exists()


def test_a_profile_of_a_side_that_does_not_run_says_so(tmp_path: Path) -> None:
    Side(root=tmp_path, port=free_base()).create()
    assert failed(["bench", "--profile", tmp_path]) == (1, f"error no side is running in {tmp_path}")


def test_an_observe_that_does_not_answer_is_named() -> None:
    status, line = failed(["scorecard"], HIFI_OBSERVE_URL=NOWHERE)
    assert status == 1
    assert line.startswith(f"error observe does not answer at {NOWHERE}: ")


def test_a_file_of_events_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    missing, wrong = tmp_path / "missing.ndjson", tmp_path / "wrong.ndjson"
    wrong.write_text("no JSON")
    send = ("send", "--key", "k", "--url", NOWHERE)
    assert failed([*send, missing]) == (1, f"error {missing}: No such file or directory")
    status, line = failed([*send, wrong])
    assert status == 1
    assert f"{wrong} is neither JSON nor NDJSON" in line


def test_a_record_of_acknowledgements_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    status, line = failed([*SEND, "--url", NOWHERE, "--acked", tmp_path])
    assert (status, line) == (1, f"error {tmp_path} cannot be written: Is a directory; name another --acked")


def test_a_record_of_arrivals_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    status, line = failed(["receive", "--port", "0", "--out", tmp_path])
    assert (status, line) == (1, f"error {tmp_path} cannot be written: Is a directory; name another --out")


@pytest.mark.parametrize("option", ["--out", "--markdown"])
def test_a_file_of_figures_that_cannot_be_written_is_named_before_anything_is_measured(
    option: str, tmp_path: Path
) -> None:
    status, line = failed(["bench", option, tmp_path])
    assert (status, line) == (1, f"error {tmp_path} cannot be written: Is a directory; name another file")


@pytest.mark.parametrize(
    ("command", "named"),
    [
        (("receive", "--misbehave", "dance=10%"), "'dance'"),
        (("trace", "x", "--since", "soon"), "--since: 'soon'"),
        (("dead-letters", "list", "--since", "soon"), "'soon'"),
        (("dead-letters", "replay", "seven"), "`partition/offset`"),
        (("send", "--seconds", "1"), "--key"),
        (("history", "pipe"), "write KIND/NAME, for example pipe/first"),
        (("revert", "pip/first", "--to", "1"), "did you mean 'pipe'?"),
    ],
)
def test_an_option_that_cannot_be_used_is_named_and_has_its_own_status(
    command: Sequence[str], named: str
) -> None:
    status, line = failed(command)
    assert status == 2
    assert line.startswith("error ")
    assert named in line


def test_a_folder_without_permission_is_named(tmp_path: Path) -> None:
    lock = tmp_path / "run" / "up.lock"
    lock.parent.mkdir()
    lock.touch()
    lock.chmod(0)
    status, line = failed_process(["down", "--data", tmp_path])
    assert status == 1
    assert line.startswith(f"error {lock} cannot be read: Permission denied; use another --data")


def test_a_folder_that_another_user_started_is_named_by_up(tmp_path: Path) -> None:
    lock = tmp_path / "run" / "up.lock"
    lock.parent.mkdir()
    lock.touch()
    lock.chmod(0o444)
    status, line = failed_process(["up", "--data", tmp_path])
    assert status == 1
    assert line.startswith(f"error {lock} cannot be written: Permission denied; use another --data")


def test_a_side_that_another_user_runs_is_named_by_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_pid: int, _signal: int) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    with held(tmp_path):
        monkeypatch.setattr(os, "kill", refuse)
        status, line = failed(["down", "--data", tmp_path])
    assert status == 1
    assert line.startswith(f"error the side in {tmp_path} (pid {os.getpid()}) cannot be stopped: Operation")
    assert line.endswith("; use another --data, or run as the user who started the side")


def test_an_error_of_the_kafka_client_names_the_brokers() -> None:
    with (
        pytest.raises(KafkaUnavailableError, match=r"Kafka at 127\.0\.0\.1:9: .*`hifi doctor`"),
        kafka_errors_explained("127.0.0.1:9"),
    ):
        admin_client("127.0.0.1:9").list_topics(timeout=0.2)

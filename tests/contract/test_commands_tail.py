"""`hifi tail` as a user runs it, with a management API and real brokers."""

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.contract.management.api_process import ANY, ApiProcess
from tests.contract.management.side_records import make_pipes, put_event
from tests.harness.command_line import HIFI, Hifi
from tests.harness.topics import Topics
from tests.harness.waiting import eventually


@pytest.fixture
def side(topics: str) -> Topics:
    return Topics(topics)


@contextmanager
def tailing(api: ApiProcess, folder: Path, *arguments: str) -> Iterator["subprocess.Popen[str]"]:
    """The command, following; its start message has been read."""
    environment = Hifi(None, {"HIFI_SERVER": api.url, "HIFI_TOKEN": api.operator}).environment
    with (
        (folder / "stderr").open("w") as told,
        subprocess.Popen(
            [*HIFI, "tail", *arguments],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=told,
            text=True,
            preexec_fn=heed_ctrl_c,  # noqa: PLW1509  # it only resets a signal
        ) as process,
    ):
        try:
            wait_for(folder, "from now on", 1)
            yield process
        finally:
            process.kill()


def heed_ctrl_c() -> None:
    """Restore SIGINT as in a terminal: background processes of a shell inherit that it is ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def wait_for(folder: Path, text: str, times: int) -> None:
    eventually(lambda: (folder / "stderr").read_text().count(text) >= times, 240, text)


def test_it_prints_events_as_they_leave_and_ends_at_its_limit(
    side_api: ApiProcess, side: Topics, tmp_path: Path
) -> None:
    make_pipes(side_api, "tail", "tail.p", masks=[{"path": "$.data.email", "action": "redact"}])
    with tailing(side_api, tmp_path, "tail.p", "--tenant", "tail", "--json", "--limit", "1") as process:
        put_event(side, "tail", "tail.p", 1, {"email": "ann@example.com"})
        side.flush()
        found, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    assert json.loads(found)["event"]["data"] == {"email": "***"}


def test_it_goes_on_after_its_stream_broke_off_and_ctrl_c_ends_it(
    side_api: ApiProcess, side: Topics, tmp_path: Path
) -> None:
    make_pipes(side_api, "again", "again.p")
    with tailing(side_api, tmp_path, "again.p", "--tenant", "again") as process:
        side_api.kill()
        side_api.restart()
        wait_for(tmp_path, "from now on", 2)
        put_event(side, "again", "again.p", 7, {"text": "\x1b[31m"}, ce_type="order\x1b[2J")
        side.flush()
        assert process.stdout is not None
        line = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(120) == 0
    assert "e7" in line and "order\\x1b" in line and "\x1b" not in line
    assert "Traceback" not in (tmp_path / "stderr").read_text()


def test_it_says_why_a_tail_ends_for_good(side_api: ApiProcess, tmp_path: Path) -> None:
    make_pipes(side_api, "ends", "ends.p")
    with tailing(side_api, tmp_path, "ends.p", "--tenant", "ends") as process:
        assert side_api.ask("DELETE", "/v1/tenants/ends/pipes/ends.p", headers=ANY).status == 204
        assert process.wait(120) == 1
    assert "the pipe was deleted" in (tmp_path / "stderr").read_text()

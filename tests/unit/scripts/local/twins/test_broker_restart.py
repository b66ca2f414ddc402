"""A restarted broker does not stay stopped."""

from pathlib import Path

import pytest

from scripts.local.processes.supervisor import SupervisorError
from scripts.local.side import Side
from scripts.local.twins import broker_restart
from scripts.local.twins.broker_restart import restart_broker

started: list[str] = []


class SlowToStop:
    """A supervisor that gives up waiting for a broker's end."""

    def __init__(self, _side: Side) -> None:
        pass

    def stop_program(self, _name: str) -> None:
        raise SupervisorError("does not answer: timed out")

    def start_program(self, name: str) -> None:
        started.append(name)


def test_a_broker_that_is_slow_to_stop_is_started_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broker_restart, "Supervisor", SlowToStop)
    with pytest.raises(SupervisorError, match="timed out"):
        restart_broker(Side(root=tmp_path), "broker-2")
    assert started == ["broker-2"]

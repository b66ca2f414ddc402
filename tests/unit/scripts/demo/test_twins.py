"""An interrupted demo on two sides ends everything that it began."""

import asyncio
import io
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from scripts.demo import twins as demo_twins
from scripts.demo import twins_story
from scripts.demo.account import PipeResult
from scripts.demo.screen import DemoTotals
from scripts.demo.twins import run_twins_demo
from scripts.demo.twins_story import Story
from scripts.local.progress import Progress
from scripts.local.side import Side
from scripts.local.twins.place import Twins
from scripts.local.twins.traffic import LocalTraffic
from scripts.terminal import INTERRUPTED
from shared.contracts.diamond.activities import Action, Activity
from shared.contracts.diamond.stability import Stability
from shared.dynamodb.activity_register import Waits
from shared.runtime.errors import OperatorError

_SOON: float = 60
_WATCHED_SECONDS = 1.0
"""Longer than an unhindered demo takes to end."""


class Register:
    """A register of activities in memory; with `waits` it lets nothing begin."""

    def __init__(self, *, waits: bool) -> None:
        self.waits = waits
        self.done: list[str] = []
        self.asked = threading.Event()

    def begin(self, action: Action, reason: str, _: Stability, *, lease_seconds: float) -> Activity | Waits:
        self.asked.set()
        if self.waits:
            return Waits(["a release"])
        return Activity(
            id="1", action=action, reason=reason, owner="o", fence=1, since_ms=0, lease_seconds=lease_seconds
        )

    def end(self, _: Activity) -> None:
        self.done.append("ended")

    def withdraw(self, _: Action) -> None:
        self.done.append("withdrawn")


class Restart:
    """A broker's restart, which ends when the test permits it."""

    def __init__(self) -> None:
        self.began, self.goes_on = threading.Event(), threading.Event()
        self.brokers: list[str] = []

    def __call__(self, _: Side, broker: str) -> None:
        self.brokers.append(broker)
        self.began.set()
        assert self.goes_on.wait(_SOON)


class Load:
    """A load without events; it ends when the demo is to stop."""

    def __init__(self, *_: object) -> None:
        pass

    async def run(self, stopping: asyncio.Event) -> None:
        await stopping.wait()

    def results(self) -> Sequence[PipeResult]:
        return []

    def totals(self, _: Sequence[PipeResult]) -> DemoTotals:
        counts = {"sent": 1, "acked": 1, "refused": 0, "unacknowledged": 0, "waiting": 0, "on_the_way": 0}
        return DemoTotals(**counts, lost=0, seconds=1)


@pytest.fixture
def twins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Twins:
    """Two sides that do not run, in a demo that has reached the patch of the brokers."""
    found = Twins(root=tmp_path / "twins", port=1)
    found.create()
    for side in found.sides:
        side.create()
    LocalTraffic(found).prepare()

    async def live(*_: object) -> None:
        pass

    def nothing(*_: object) -> None:
        pass

    monkeypatch.setattr(demo_twins, "apply_sample", nothing)
    monkeypatch.setattr(demo_twins, "wait_until_live", live)
    monkeypatch.setattr(demo_twins, "Demo", Load)
    monkeypatch.setattr(Story, "_until_warm", nothing)
    monkeypatch.setattr(Story, "_release", nothing)
    monkeypatch.setattr(Story, "_look", nothing)
    monkeypatch.setattr(twins_story, "commit_of", lambda _: "commit")
    return found


def registered(monkeypatch: pytest.MonkeyPatch, *, waits: bool) -> Register:
    register = Register(waits=waits)

    @contextmanager
    def opened(_: Path) -> Iterator[Register]:
        yield register

    monkeypatch.setattr(twins_story, "activity_register", opened)
    return register


async def interrupted(twins: Twins, when: threading.Event) -> "asyncio.Task[Any]":
    """Interrupt the demo with Ctrl-C once a condition holds."""
    progress = Progress(Console(file=io.StringIO()))
    demo = asyncio.create_task(run_twins_demo(twins, progress, 1.0))
    assert await asyncio.to_thread(when.wait, _SOON)
    os.kill(os.getpid(), signal.SIGINT)
    return demo


def test_ctrl_c_while_a_broker_is_restarted_waits_until_the_patch_is_ended(
    twins: Twins, monkeypatch: pytest.MonkeyPatch
) -> None:
    register, restart = registered(monkeypatch, waits=False), Restart()
    monkeypatch.setattr(twins_story, "restart_broker", restart)

    async def demo() -> None:
        running = await interrupted(twins, restart.began)
        await asyncio.wait([running], timeout=_WATCHED_SECONDS)
        assert not running.done()
        restart.goes_on.set()
        with pytest.raises(OperatorError, match="broker-1") as found:
            await running
        assert found.value.status == INTERRUPTED

    try:
        asyncio.run(asyncio.wait_for(demo(), _SOON))
    finally:
        restart.goes_on.set()
    assert register.done == ["ended"]
    assert restart.brokers == ["broker-1"]


def test_ctrl_c_while_the_patch_waits_for_others_takes_its_wish_back(
    twins: Twins, monkeypatch: pytest.MonkeyPatch
) -> None:
    register = registered(monkeypatch, waits=True)

    async def demo() -> None:
        with pytest.raises(OperatorError) as found:
            await (await interrupted(twins, register.asked))
        assert found.value.status == INTERRUPTED

    asyncio.run(asyncio.wait_for(demo(), _SOON))
    assert register.done == ["withdrawn"]

"""A whole side with a warm-up that fails after the side has opened."""

from pathlib import Path

import pytest

from scripts.local.processes.programs import COLLECT
from scripts.local.services import says_ready
from tests.harness.live_side import LiveSide
from tests.harness.waiting import eventually

pytestmark = pytest.mark.proof


def test_a_side_whose_warm_up_fails_serves_on_and_is_never_called_ready(tmp_path: Path) -> None:
    live = LiveSide.fresh(tmp_path)
    try:
        live.begin()
        live.until_said("open")
        live.hold_down(COLLECT)
        live.until_said("not ready")
        assert "the warm-up failed: no event arrived within 180 s: collect wrote nothing" in live.said()
        live.let_up(COLLECT)
        eventually(lambda: says_ready(live.side.collect_port), 60, "collect is ready")
        eventually(lambda: says_ready(live.side.observe_port), 120, "the meter is there all the same")
        assert "\nready " not in live.said()
        assert live.terminate() == 0
        assert not live.processes(), "a process is left"
    finally:
        live.end()

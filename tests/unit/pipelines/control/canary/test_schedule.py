"""The canary's pause, by a clock that may be adjusted."""

from pipelines.control.canary.schedule import Pause


def test_a_pause_lasts_for_its_seconds() -> None:
    pause = Pause(1_000, 60)
    assert [pause.lasts(now_ms) for now_ms in (1_000, 60_999, 61_000)] == [True, True, False]
    pause.begin(70_000, 0)
    assert not pause.lasts(70_000)


def test_a_clock_that_is_set_back_does_not_prolong_a_pause() -> None:
    pause = Pause(0, 0)
    pause.begin(3_600_000, 60)
    assert not pause.lasts(0)

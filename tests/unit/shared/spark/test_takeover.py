"""When a waiting driver starts queries, and when it kills a driver that does not answer."""

from hypothesis import given
from hypothesis import strategies as st

from shared.spark.takeover import Step, Takeover

NODES = ("transmit", "route", "ingest")


class Time:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_only_what_this_driver_has_is_started_once_and_in_order() -> None:
    takeover = Takeover(NODES, Time())
    assert takeover.next({"ingest"}, "1") == (Step.START, "ingest")
    assert takeover.next({"ingest"}, "2")[0] is Step.WAIT
    assert takeover.next(set(NODES), "3") == (Step.START, "transmit")
    assert takeover.next(set(NODES), "3") == (Step.START, "route")
    assert takeover.next(set(NODES), "3") == (Step.DONE, "")


def test_what_is_started_later_is_waited_for_and_not_started() -> None:
    takeover = Takeover(["transmit", "route"], Time(), later=["audit"])
    assert takeover.next({"transmit", "route"}, "1") == (Step.START, "transmit")
    assert takeover.next({"transmit", "route"}, "1") == (Step.START, "route")
    assert takeover.next({"transmit", "route"}, "1") == (Step.WAIT, "audit")
    assert takeover.next({"transmit", "route", "audit"}, "1") == (Step.DONE, "")


def test_a_driver_whose_beat_stands_still_is_ended_but_not_before_its_time() -> None:
    time = Time()
    takeover = Takeover(NODES, time, silent_looks=15)
    assert takeover.next((), "7")[0] is Step.WAIT
    for _ in range(14):
        time.now += 1
        assert takeover.next((), "7")[0] is Step.WAIT
    time.now += 0.9
    assert takeover.next((), "7")[0] is Step.WAIT
    time.now += 0.1
    assert takeover.next((), "7") == (Step.END_OTHER, "transmit")
    assert takeover.next((), "7")[0] is Step.WAIT, "it takes a moment to end"


def test_a_driver_that_stood_still_together_with_the_waiting_one_has_as_long_as_ever_to_beat() -> None:
    time = Time()
    takeover = Takeover(NODES, time, silent_looks=15)
    assert takeover.next((), "7")[0] is Step.WAIT
    for _ in range(14):
        time.now += 3_600  # both are suspended, repeatedly
        assert takeover.next((), "7")[0] is Step.WAIT
    assert takeover.next((), "8")[0] is Step.WAIT
    time.now += 3_600
    assert takeover.next((), "8")[0] is Step.WAIT


def test_looks_in_quick_succession_do_not_end_a_driver_sooner() -> None:
    time = Time()
    takeover = Takeover(NODES, time, silent_looks=15)
    for _ in range(149):
        assert takeover.next((), "7")[0] is Step.WAIT
        time.now += 0.1


def test_a_driver_that_beats_is_never_ended() -> None:
    time = Time()
    takeover = Takeover(NODES, time, silent_looks=15)
    for beat in range(20):
        for _ in range(15):
            assert takeover.next((), str(beat))[0] is Step.WAIT
            time.now += 1


def test_a_driver_with_every_lock_kills_no_other() -> None:
    time = Time()
    takeover = Takeover(NODES, time, silent_looks=15)
    for _ in NODES:
        takeover.next(NODES, "")
    time.now += 1_000
    assert takeover.next(NODES, "") == (Step.DONE, "")


@given(st.lists(st.tuples(st.sets(st.sampled_from(NODES)), st.booleans(), st.floats(0, 10))))
def test_no_order_of_locks_beats_and_time_starts_a_query_without_its_lock_or_twice(
    turns: list[tuple[set[str], bool, float]],
) -> None:
    time, started, beat = Time(), [], 0
    takeover = Takeover(NODES, time, silent_looks=15)
    acquired: set[str] = set()
    heard_at = time.now
    for more, beats, seconds in turns:
        acquired |= more
        time.now += seconds
        if beats:
            beat, heard_at = beat + 1, time.now
        step, node = takeover.next(acquired, str(beat))
        if step is Step.START:
            assert node in acquired
            started.append(node)
        if step is Step.END_OTHER:
            assert node not in acquired
            assert time.now - heard_at >= 15
    assert len(started) == len(set(started))

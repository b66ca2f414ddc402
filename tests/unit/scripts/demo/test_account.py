"""The demo's proof finds exactly the missing events, in each pipe."""

from scripts.demo.account import EVERYTHING, SAMPLED, TROUBLE, Pending, pipe_result
from scripts.load.receiver import PathCounts
from scripts.load.telemetry import HEARTBEAT, STALL

KINDS = {"a": HEARTBEAT, "b": STALL, "c": STALL}


def arrived(*ids: str) -> PathCounts:
    tally = PathCounts()
    for event_id in ids:
        tally.add([event_id], [1])
    return tally


def test_each_pipe_misses_only_events_that_it_should_have_delivered() -> None:
    everything = pipe_result(EVERYTHING, KINDS, KINDS.__getitem__, arrived("a", "c"))
    trouble = pipe_result(TROUBLE, KINDS, KINDS.__getitem__, arrived("b"))
    assert everything.missing == {"b"}
    assert (trouble.expected, trouble.missing) == (2, frozenset({"c"}))


def test_nothing_is_expected_of_a_sample_or_of_unknown_events() -> None:
    assert pipe_result(SAMPLED, KINDS, KINDS.__getitem__, arrived()).expected is None
    assert pipe_result(TROUBLE, KINDS, None, arrived()).expected is None
    assert pipe_result(EVERYTHING, KINDS, None, arrived()).missing == KINDS.keys()


def test_a_repeated_delivery_is_counted_and_fills_no_gap() -> None:
    found = pipe_result(EVERYTHING, ["a", "b"], None, arrived("a", "a"))
    assert (found.delivered, found.duplicated, found.missing) == (1, 1, frozenset({"b"}))


def test_an_event_that_arrives_before_its_acknowledgement_is_not_on_the_way() -> None:
    tally = arrived("a")
    pending = Pending(tally.seen)
    pending.add(["a", "b"], 0, 100)
    assert pending.settle() == 1
    assert (pending.overdue(100), pending.overdue(101)) == (0, 1)
    tally.add(["b"], [1])
    assert pending.settle() == 0

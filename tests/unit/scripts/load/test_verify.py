"""Counts of lost and duplicated events, on which every fault test relies."""

from scripts.load.verify import check_delivery, visible_in


def test_an_acknowledged_event_that_is_nowhere_is_lost() -> None:
    assert check_delivery(["a", "b"], ["a"]).lost == ("b",)


def test_an_event_that_waits_with_a_reason_is_not_lost() -> None:
    found = check_delivery(["a", "b", "c"], ["a"], visible=["b"])
    assert (found.lost, found.waiting) == (("c",), 1)


def test_an_event_that_waits_in_one_pipe_is_not_found_in_another() -> None:
    visible = {("one", "a"), ("other", "b")}
    assert visible_in("one", visible) == {"a"}


def test_one_loss_is_not_hidden_by_one_duplicate() -> None:
    found = check_delivery(["a", "b"], ["a", "a"])
    assert (found.lost, found.duplicated) == (("b",), 1)


def test_an_arrival_without_acknowledgement_is_not_a_loss() -> None:
    found = check_delivery(["a"], ["a", "b"])
    assert (found.lost, found.received, found.duplicated) == ((), 2, 0)

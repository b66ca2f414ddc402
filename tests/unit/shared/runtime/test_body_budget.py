"""Requests share one budget; the oldest incomplete one gives way, for good."""

from contextlib import AbstractContextManager

import pytest

from shared.runtime.body_budget import BodyBudget, Reservation

LIMIT = 100


class UsedUpError(Exception):
    """The budget's refusal in these tests."""


def answer_in(budget: BodyBudget, ended: list[str]) -> AbstractContextManager[Reservation]:
    """Reserve an answer that waits for its client."""
    return budget.reserved(lambda: ended.append("answer"), is_answer=True)


def test_an_evicted_request_takes_no_memory_again_before_it_has_ended() -> None:
    budget, ended = BodyBudget(LIMIT, UsedUpError), []
    with (
        budget.reserved(lambda: ended.append("older")) as older,
        budget.reserved(lambda: ended.append("newer")) as newer,
    ):
        older.grow(LIMIT)
        newer.grow(1)
        assert (ended, older.bytes) == (["older"], 0)
        with pytest.raises(UsedUpError):
            older.grow(1)
        newer.grow(LIMIT - 1)
    assert budget.held == 0


def test_what_is_in_use_already_is_counted_beyond_the_limit_and_gives_way_to_what_comes() -> None:
    budget, ended = BodyBudget(LIMIT, UsedUpError), list[str]()
    with budget.reserved(lambda: None) as whole, answer_in(budget, ended) as answer:
        whole.grow(LIMIT)
        whole.complete()
        answer.hold(10)
        assert (ended, budget.held) == ([], LIMIT + 10)
        whole.release()
        with budget.reserved(lambda: None) as newer:
            newer.grow(LIMIT)
        assert ended == ["answer"]
    assert budget.held == 0


def test_an_answer_is_not_dropped_for_another_request_that_needs_its_place_alone() -> None:
    budget, ended = BodyBudget(LIMIT, UsedUpError), list[str]()
    with answer_in(budget, ended) as answer, budget.reserved(lambda: ended.append("whole")) as whole:
        answer.hold(10)
        whole.grow(10)
        whole.complete()
        assert not budget.evict_oldest()
        with budget.reserved(lambda: ended.append("incomplete")):
            assert budget.evict_oldest()
        assert ended == ["incomplete"]

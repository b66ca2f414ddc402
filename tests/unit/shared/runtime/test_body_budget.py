"""Requests share one budget; the one that has been incomplete for longest gives way, for good."""

import pytest

from shared.runtime.body_budget import BodyBudget

LIMIT = 100


class UsedUpError(Exception):
    """The budget's refusal in these tests."""


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

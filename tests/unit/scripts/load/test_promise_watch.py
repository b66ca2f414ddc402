"""When hifi's promise counts as kept under a load."""

import pytest

from scripts.load.promise_watch import KEPT_SECONDS, PromiseWatch
from shared.contracts.ledger import GOOD_MS


@pytest.mark.parametrize("bad", [None, GOOD_MS + 1])
def test_the_promise_counts_as_kept_after_a_period_of_good_looks(bad: int | None) -> None:
    now = [0.0]
    watch = PromiseWatch(lambda: now[0])
    assert not watch.kept, "nothing was seen yet"
    now[0] = KEPT_SECONDS - 1
    watch.arrived(bad)
    now[0] += KEPT_SECONDS - 1
    watch.arrived(GOOD_MS)
    assert not watch.kept
    now[0] += 1
    assert watch.kept

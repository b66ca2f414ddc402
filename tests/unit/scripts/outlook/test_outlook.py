"""How destinations are doing, from receipts and from samples of what waits."""

from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts.outlook.sampling import scale, slices
from scripts.outlook.state import Seen, Waiting, seen, states
from shared.contracts.receipts import Receipt, Result
from shared.kafka.offset_range_reader import OffsetRange


@given(st.integers(0, 10**6), st.integers(0, 10**7), st.integers(10, 10**5))
def test_a_sample_is_bounded_lies_within_and_begins_with_the_oldest(
    start: int, count: int, most: int
) -> None:
    span = OffsetRange("t", 0, start, start + count)
    parts = slices(span, most)
    read = [offset for part in parts for offset in (part.start, part.end - 1)]
    assert sum(part.records for part in parts) == (count if count <= most else most // 10 * 10)
    assert all(start <= offset < start + count for offset in read)
    assert all(before.end <= after.start for before, after in pairwise(parts))
    assert not count or parts[0].start == start
    assert scale(span, parts) * sum(part.records for part in parts) == pytest.approx(count)


def receipt(result: Result, at_ms: int, events: int = 1, breaker: str = "", lane: str = "") -> Seen:
    failed = result in {"retry", "dead"}
    return Seen(
        destination="shop",
        result=result,
        minutes=[0] * events,
        departed_ms=at_ms,
        reason=f"failed at {at_ms}" if failed else "",
        breaker=breaker,
        lane=lane,
    )


def test_the_latest_request_says_how_breaker_and_lane_stand() -> None:
    receipts = [
        receipt("retry", 3, breaker="open", lane="slow"),
        receipt("delivered", 2, breaker="closed", lane="fast"),
        receipt("duplicate", 4, breaker="closed", lane="fast"),
    ]
    (state,) = states(["shop"], receipts, {}, 60)
    assert (state.breaker, state.lane, state.last_error) == ("open", "slow", "failed at 3")


def test_success_counts_events_that_were_tried() -> None:
    receipts = [
        receipt("delivered", 1, 6),
        receipt("retry", 2),
        receipt("dead", 3),
        receipt("duplicate", 4, 90),
    ]
    (state,) = states(["shop"], receipts, {}, 60)
    assert (state.success, state.events_per_second) == (0.75, 0.1)
    assert (state.last_error, state.last_error_ms) == ("failed at 3", 3)


def test_every_destination_is_there_published_or_not_and_none_without_a_name() -> None:
    waiting = {"gone": Waiting(), "": Waiting(records=5)}
    waiting["gone"].add(20, 1.5)
    waiting["gone"].add(10, 1.5)
    found = {state.name: state for state in states(["idle"], [receipt("delivered", 1)], waiting, 60)}
    assert list(found) == ["gone", "idle", "shop"]
    assert (found["gone"].waiting, found["gone"].oldest_waiting_ms) == (3, 10)
    assert (found["idle"].success, found["idle"].breaker, found["idle"].oldest_waiting_ms) == (
        None,
        None,
        None,
    )


def test_a_receipt_of_any_version_is_read_and_rubbish_is_left_out() -> None:
    whole = Receipt(
        destination="shop",
        pipe="p",
        result="delivered",
        ids=["e"],
        minutes=[1],
        status=202,
        tries=1,
        attempt=1,
        received_ms=[1],
        departed_ms=2,
    )
    found = seen(msgspec.json.encode(whole))
    assert found is not None
    assert (found.destination, found.minutes, found.departed_ms) == ("shop", [1], 2)
    assert seen(b"{}") is None
    assert seen(b"\xff") is None

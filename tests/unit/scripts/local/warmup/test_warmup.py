"""When a side is warm, and at which hop a chain stalls."""

from collections.abc import Mapping
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts.local.ports import free_base
from scripts.local.side import Side
from scripts.local.warmup import warmup
from scripts.local.warmup.warmup import WarmUpError, WarmUpLimits, documents, warm, warm_up
from shared.contracts.topics import Topic
from shared.kafka.consumer_lag import CHAIN, stuck_hop
from shared.runtime.percentiles import percentile_95


@pytest.mark.parametrize(
    ("elapsed", "lags", "expected"),
    [
        (30.0, [100] * 100, True),
        (5.0, [100] * 100, False),
        (30.0, [], False),
        (30.0, [100] * 94 + [900] * 6, False),
        (30.0, [100] * 95 + [900] * 5, True),
    ],
    ids=["fast", "too early", "nothing came", "slow tail", "tail of five per cent"],
)
def test_warm_is_a_low_p95_after_a_least_time(elapsed: float, lags: list[int], expected: bool) -> None:
    assert warm(elapsed, lags) is expected


@given(st.lists(st.integers(0, 10_000), min_size=1))
def test_at_least_95_per_cent_are_at_or_below_p95(values: list[int]) -> None:
    p95 = percentile_95(values)
    assert sum(value <= p95 for value in values) >= 0.95 * len(values)
    assert sum(value < p95 for value in values) < 0.95 * len(values)


@pytest.mark.parametrize("position", range(len(CHAIN)))
def test_the_first_hop_that_wrote_nothing_is_named(position: int) -> None:
    before = dict.fromkeys(Topic, 5)
    moved = {topic for _, topic in CHAIN[:position]}
    after = {topic: 6 if topic in moved else 5 for topic in Topic}
    assert stuck_hop(before, after) == CHAIN[position][0]


def test_no_hop_is_named_when_all_wrote() -> None:
    assert stuck_hop(dict.fromkeys(Topic, 0), dict.fromkeys(Topic, 1)) is None


def test_the_warm_ups_documents_are_no_customers() -> None:
    assert {document.tenant for document in documents("http://127.0.0.1:1/")} == {"hifi"}


@pytest.mark.timeout(60)
def test_retries_of_customers_events_do_not_keep_a_warm_up_waiting_behind_a_hop_that_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = count()

    def ends(_: object) -> Mapping[Topic, int]:
        """collect takes the warm-up's events, ingest writes none, transmit keeps retrying others."""
        now = next(looks)
        return dict.fromkeys(Topic, 5) | {Topic.COLLECTED: now, Topic.RECEIPTS: now}

    monkeypatch.setattr(warmup, "topic_ends", ends)
    monkeypatch.setattr(warmup, "publish", lambda *_: None)
    side = Side(root=tmp_path, port=free_base())
    with pytest.raises(WarmUpError, match=r"within 1 s: ingest wrote nothing"):
        warm_up(side, lambda _: None, WarmUpLimits(seconds=0, first_seconds=1))

"""Ends of topics while leaders move, and lags of a chain while its records move on."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from types import SimpleNamespace
from typing import Any, Final

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined]
from hypothesis import given
from hypothesis import strategies as st

from shared.contracts.topics import Topic
from shared.contracts.topology import CHAIN_GROUPS, INPUTS
from shared.kafka.consumer_lag import lags, topic_ends
from shared.kafka.progress_group import group_name


class Moving:
    """An admin client with scripted answers, for one topic with one partition."""

    def __init__(self, *errors: int) -> None:
        self._errors = list(errors)

    def list_topics(self, timeout: float) -> Any:
        assert timeout
        return SimpleNamespace(topics={Topic.EVENTS: SimpleNamespace(partitions={0: None})})

    def list_offsets(self, asked: dict[Any, Any], request_timeout: float) -> Any:
        assert request_timeout
        answer: Future[Any] = Future()
        if self._errors:
            answer.set_exception(KafkaException(KafkaError(self._errors.pop(0))))
        else:
            answer.set_result(SimpleNamespace(offset=7))
        return dict.fromkeys(asked, answer)


def test_a_leader_that_is_moving_is_waited_for() -> None:
    moving: Any = Moving(KafkaError.UNKNOWN_LEADER_EPOCH, KafkaError.NOT_LEADER_FOR_PARTITION)
    assert topic_ends(moving)[Topic.EVENTS] == 7


def test_any_other_error_is_raised_at_once() -> None:
    refusing: Any = Moving(KafkaError.TOPIC_AUTHORIZATION_FAILED)
    with pytest.raises(KafkaException, match="authorization"):
        topic_ends(refusing)


OFFSET: Final = 10
"""Every topic has this many records, and every group has committed them."""

HOPS: Final = {
    Topic.COLLECTED: (Topic.EVENTS,),
    Topic.EVENTS: (Topic.OUTBOUND,),
    Topic.OUTBOUND: (Topic.OUTBOUND_SLOW, Topic.RETRY_IN_5M),
    Topic.OUTBOUND_SLOW: (Topic.RETRY_IN_5M,),
    Topic.RETRY_IN_5M: (Topic.RETRY_OUT,),
    Topic.RETRY_OUT: (Topic.OUTBOUND_SLOW, Topic.RETRY_IN_5M),
}
"""Topics to which an undelivered record may move from each topic."""


class OnItsWay:
    """An admin client for brokers with one record, which may move on at every request.

    A node writes a record on before it commits that it has read it.
    """

    def __init__(self, hops: Sequence[int]) -> None:
        """`hops`: moves of the record at each request."""
        self._hops = list(hops)
        self.at, self._moves = Topic.COLLECTED, 0
        self.firsts = dict.fromkeys(Topic, 0)
        self._ends = dict.fromkeys(Topic, OFFSET) | {Topic.COLLECTED: OFFSET + 1}
        self._committed = {group_name(n): dict.fromkeys(topics, OFFSET) for n, topics in INPUTS.items()}

    def list_topics(self, timeout: float) -> Any:
        assert timeout
        self._move()
        return SimpleNamespace(topics={topic: SimpleNamespace(partitions={0: None}) for topic in Topic})

    def list_offsets(self, asked: dict[Any, Any], request_timeout: float) -> Any:
        """Return the first or last offsets; each partition is requested by itself."""
        assert request_timeout

        def offset(topic: Topic, which: object) -> Any:
            first = which == OffsetSpec.earliest()  # type: ignore[no-untyped-call]
            return SimpleNamespace(offset=(self.firsts if first else self._ends)[topic])

        return {at: self._later(partial(offset, at.topic, which)) for at, which in asked.items()}

    def list_consumer_group_offsets(self, asked: list[Any], request_timeout: float) -> Any:
        assert request_timeout
        return {each.group_id: self._later(partial(self._group, each.group_id)) for each in asked}

    def _group(self, group: str) -> Any:
        found = self._committed[group].items()
        places = [SimpleNamespace(topic=topic, partition=0, offset=offset) for topic, offset in found]
        return SimpleNamespace(topic_partitions=places)

    def _later(self, answer: Callable[[], Any]) -> Any:
        def result(timeout: float) -> Any:
            assert timeout
            self._move()
            return answer()

        return SimpleNamespace(result=result)

    def _move(self) -> None:
        for _ in range(self._hops.pop(0) if self._hops else 0):
            self._moves += 1
            before, ways = self.at, HOPS[self.at]
            self.at = ways[self._moves % len(ways)]
            self._ends[self.at] += 1
            (node,) = (each for each in CHAIN_GROUPS if before in INPUTS[each])
            self._committed[group_name(node)][before] += 1


@given(st.lists(st.integers(0, 3), max_size=60))
def test_a_record_that_moves_from_topic_to_topic_during_a_look_is_seen_in_one_of_them(
    hops: list[int],
) -> None:
    admin: Any = OnItsWay(hops)
    found = {each.node: each.records for each in lags(admin)}
    assert sum(found[node] or 0 for node in CHAIN_GROUPS) >= 1, admin.at


def test_what_a_group_that_has_committed_nothing_has_before_it_is_known_though_its_lag_is_not() -> None:
    admin: Any = OnItsWay([])
    admin._committed[group_name("retry")] = {}
    found = {each.node: each for each in lags(admin)}
    assert (found["retry"].records, found["retry"].ahead) == (None, 3 * OFFSET)
    assert (found["ingest"].records, found["ingest"].ahead) == (1, 1)


class MovingCoordinator(OnItsWay):
    """Brokers that do not know yet which of them holds the groups' offsets."""

    def _group(self, group: str) -> Any:
        raise KafkaException(KafkaError(KafkaError.COORDINATOR_NOT_AVAILABLE))


def test_a_coordinator_that_does_not_answer_is_not_taken_for_a_group_without_commits() -> None:
    admin: Any = MovingCoordinator([])
    with pytest.raises(KafkaException, match="oordinator"):
        lags(admin)


@pytest.mark.parametrize("node", ["retry", "transmit"])
def test_records_that_are_deleted_are_behind_no_node(node: str) -> None:
    admin: Any = OnItsWay([])
    admin._ends |= dict.fromkeys(INPUTS[node], OFFSET + 3)
    admin.firsts |= dict.fromkeys(INPUTS[node], OFFSET + 1)
    found = {each.node: each for each in lags(admin)}
    assert found[node].records == 2 * len(INPUTS[node])
    admin.firsts |= dict.fromkeys(INPUTS[node], OFFSET + 3)
    found = {each.node: each for each in lags(admin)}
    assert (found[node].records, found[node].ahead) == (0, 0)


def test_a_group_that_has_committed_nothing_is_not_behind_once_all_records_are_deleted() -> None:
    admin: Any = OnItsWay([])
    admin._committed[group_name("transmit_slow")] = {}
    admin.firsts |= dict.fromkeys(Topic, OFFSET)
    found = {each.node: each for each in lags(admin)}
    assert (found["transmit_slow"].records, found["transmit_slow"].ahead) == (0, 0)

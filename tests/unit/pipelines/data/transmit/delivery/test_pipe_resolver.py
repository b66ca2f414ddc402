"""Events of a pipe unknown to this process: it was deleted, is about to arrive, or either is possible."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any, Final, cast

import pytest

from pipelines.data.transmit.connectors.registry import CONNECTORS
from pipelines.data.transmit.delivery.decide import End, Policy, RetryLater
from pipelines.data.transmit.delivery.delivery import Delivery
from pipelines.data.transmit.delivery.kafka_rows import SettledEvents
from pipelines.data.transmit.delivery.pipe_resolver import PipeResolver, ResolvedPipe, UnresolvedPipe
from pipelines.data.transmit.delivery.request_batch import grouped
from pipelines.data.transmit.delivery.shared_call import SharedCall
from pipelines.data.transmit.delivery.timeout import Deadline, WaitLimits
from shared.contracts.documents import Catalogue, Destination, Entry, Pipe, TenantName
from shared.contracts.publish_plan import document_key
from shared.contracts.topics import Topic
from tests.unit.pipelines.data.transmit.transmit_events import event

AMPLE: Final = 60.0
GONE: Final[TenantName] = ("t", "gone")


class Configuration:
    """The configuration that this process has read."""

    def __init__(self) -> None:
        self.view = Catalogue()

    def come(self, *names: str) -> None:
        """Documents of pipes with these names are read."""
        found = [
            document
            for name in names
            for document in (
                Destination(name=name, tenant="t", options={"url": "https://example.com"}),
                Pipe(name=name, tenant="t", source="s", destination=name),
            )
        ]
        self.view = Catalogue({document_key(each): Entry(version=1, document=each) for each in found})

    def resolver(self, is_newest: Callable[[], Awaitable[bool]], wait_seconds: float = AMPLE) -> PipeResolver:
        return PipeResolver(lambda: self.view, is_newest, wait_seconds, CONNECTORS)


async def known() -> bool:
    """The brokers confirm at once that this process has the newest configuration."""
    return True


def test_events_of_a_deleted_pipe_wait_for_nothing_whichever_other_documents_change() -> None:
    read = Configuration()

    async def find() -> float:
        resolver, loop = read.resolver(known), asyncio.get_running_loop()
        began = loop.time()
        for names in (["a"], ["a", "b"], ["b"]):
            read.come(*names)
            found = await resolver.find(GONE, AMPLE)
            assert isinstance(found, UnresolvedPipe)
            assert found.newest
        return loop.time() - began

    assert asyncio.run(find()) < AMPLE, "they waited for the pipe to come"


def test_an_event_waits_for_a_pipe_that_comes_with_the_newest_configuration() -> None:
    read = Configuration()

    async def newest() -> bool:
        read.come("gone")
        return True

    assert isinstance(asyncio.run(read.resolver(newest).find(GONE, AMPLE)), ResolvedPipe)


def test_a_pipe_is_only_known_to_be_missing_if_the_configuration_is_the_newest() -> None:
    async def behind() -> bool:
        return False

    found = asyncio.run(Configuration().resolver(behind).find(GONE, AMPLE))
    assert isinstance(found, UnresolvedPipe)
    assert not found.newest


def test_the_brokers_are_asked_once_for_all_events_that_wait() -> None:
    asked = 0

    def ask() -> bool:
        nonlocal asked
        asked += 1
        return True

    async def find_all() -> list[ResolvedPipe | UnresolvedPipe]:
        newest = SharedCall(ask, "newest")
        resolver = Configuration().resolver(newest)
        found = await asyncio.gather(*(resolver.find(("t", f"gone{n}"), AMPLE) for n in range(100)))
        newest.close()
        return found

    assert all(isinstance(found, UnresolvedPipe) and found.newest for found in asyncio.run(find_all()))
    assert asked == 1


@pytest.mark.parametrize(
    ("seconds", "wait_seconds"), [(0.1, AMPLE), (AMPLE, 0.1)], ids=["deadline", "time for an answer"]
)
def test_without_an_answer_in_time_events_are_tried_later_and_that_is_no_attempt(
    seconds: float, wait_seconds: float
) -> None:
    ended: list[End] = []

    async def deliver() -> float:
        silence, loop = threading.Event(), asyncio.get_running_loop()
        newest = SharedCall(lambda: silence.wait(10 * AMPLE), "newest")
        resolver = Configuration().resolver(newest, wait_seconds)
        began = loop.time()
        delivery = delivering(resolver, Deadline(began, seconds), lambda found: ended.append(found.outcome))
        for group, events in grouped([event()]).items():
            await delivery.deliver(group, events)
        took = loop.time() - began
        silence.set()
        newest.close()
        return took

    assert asyncio.run(deliver()) < AMPLE
    (found,) = ended
    assert isinstance(found, RetryLater)
    assert (found.topic, found.attempts) == (Topic.RETRY_IN_30S, 0)
    assert "whether that is the newest is not known" in found.reason


def delivering(pipes: PipeResolver, deadline: Deadline, settle: Callable[[SettledEvents], None]) -> Delivery:
    """A delivery that reaches no connector."""
    return Delivery(
        pipes=pipes,
        connectors=cast(Any, None),
        transformer=cast(Any, None),
        policy=Policy(local_tries=3, pause=0.05, pause_limit=1.0, give_up=timedelta(hours=24)),
        deadline=deadline,
        admission=cast(Any, None),
        wait_limits=WaitLimits(),
        turns=cast(Any, None),
        settle=settle,
        clock=lambda: 1_800_000_000_000,
        jitter=lambda: 0.0,
    )

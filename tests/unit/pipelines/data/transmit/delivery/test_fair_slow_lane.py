"""A destination of the slow lane that gets more than it takes holds up no others, and nothing is lost."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, cast

import pytest
from msgspec import Struct

from pipelines.data.transmit.admission.gate import Admission, AdmissionPolicy
from pipelines.data.transmit.connectors.base import Answer, ConnectorContext, ConnectorType
from pipelines.data.transmit.connectors.registry import ConnectorPool
from pipelines.data.transmit.delivery.decide import Delivered, Policy, RetryLater
from pipelines.data.transmit.delivery.delivery import Delivery
from pipelines.data.transmit.delivery.kafka_rows import SettledEvents
from pipelines.data.transmit.delivery.pipe_resolver import PipeResolver
from pipelines.data.transmit.delivery.request_batch import grouped
from pipelines.data.transmit.delivery.timeout import Deadline, WaitLimits
from pipelines.data.transmit.delivery.transform_executor import TransformExecutor
from pipelines.data.transmit.events import Event
from pipelines.data.transmit.settings import TransmitSettings
from pipelines.data.transmit.worker import admission_policy
from shared.connectors.spec import ConnectorSpec
from shared.contracts.documents import Batch, Catalogue, Destination, Entry, Limits, Pipe
from shared.contracts.publish_plan import document_key
from tests.unit.pipelines.data.transmit.transmit_events import event
from tests.unit.pipelines.data.transmit.virtual_time import run

OTHERS = ("a", "b", "c")
SETTINGS = {"bootstrap": "nowhere:9092", "checkpoints": "none", "jars": "none"}
SLOW_LANE = admission_policy(TransmitSettings.model_validate(SETTINGS), "slow")


class NoOptions(Struct):
    """Options of `Far`."""


class Far:
    """Destinations: `busy` works on one request after the other, the others on all at once."""

    def __init__(self, busy_seconds: float) -> None:
        self.busy_seconds = busy_seconds
        self.got: Counter[str] = Counter()
        self.status = 200
        self._one = asyncio.Lock()

    async def send(
        self, destination: Destination, options: object, events: Sequence[Event], seconds: float
    ) -> Sequence[Answer]:
        """Answer every event alike."""
        if destination.name == "busy":
            async with self._one:
                await asyncio.sleep(self.busy_seconds)
            status = self.status
        else:
            await asyncio.sleep(0.05)
            status = 200
        if status == 200:
            self.got.update(each.id for each in events)
        return [Answer(status=status)] * len(events)

    async def close(self) -> None:
        """Nothing to close."""


class Lane:
    """The slow lane's process, with one micro-batch after the other."""

    def __init__(self, far: Far, rules: AdmissionPolicy = SLOW_LANE, **busy: Any) -> None:
        self._loop = asyncio.get_running_loop()
        self.admission = Admission(rules, self.clock, self._loop.time)
        documents, kinds = catalogue(**busy), {"far": kind(far)}
        self._pipes = PipeResolver(lambda: documents, 0.1, kinds)
        self._connectors = ConnectorPool(kinds, cast(ConnectorContext, None))

    def clock(self) -> int:
        """Epoch milliseconds."""
        return int(self._loop.time() * 1000)

    async def micro_batch(self, events: Sequence[Event]) -> tuple[list[SettledEvents], float]:
        """What became of events, and how many seconds it took."""
        settled: list[SettledEvents] = []
        began = self._loop.time()
        delivery = Delivery(
            pipes=self._pipes,
            connectors=self._connectors,
            transformer=cast(TransformExecutor, None),
            policy=Policy(local_tries=3, pause=0.05, pause_limit=1.0, give_up=timedelta(hours=24)),
            deadline=Deadline(began + 10.0),
            admission=self.admission,
            wait_limits=WaitLimits(),
            settle=settled.append,
            clock=self.clock,
            jitter=lambda: 0.5,
        )
        await asyncio.gather(*(delivery.deliver(of, group) for of, group in grouped(events).items()))
        return settled, self._loop.time() - began


def kind(far: Far) -> ConnectorType[Any]:
    async def opened(_: ConnectorContext) -> Far:
        return far

    return ConnectorType(spec=ConnectorSpec(description="far", options=NoOptions), open=opened)


def catalogue(**busy: Any) -> Catalogue:
    documents: list[Destination | Pipe] = []
    for name in ("busy", *OTHERS):
        fields: dict[str, Any] = {"batch": Batch(max_events=10)} | (busy if name == "busy" else {})
        documents.append(Destination(name=name, tenant="t", connector="far", options={}, **fields))
        documents.append(Pipe(name=name, tenant="t", source="s", destination=name))
    return Catalogue({document_key(each): Entry(version=1, document=each) for each in documents})


def some(pipe: str, first: int, count: int, **changes: Any) -> list[Event]:
    return [event(n, pipe=pipe, **changes) for n in range(first, first + count)]


def ended(settled: Sequence[SettledEvents]) -> Counter[str]:
    return Counter(each.id for one in settled for each in one.events)


def set_aside(settled: Sequence[SettledEvents]) -> list[tuple[Event, RetryLater]]:
    return [
        (each, one.outcome) for one in settled if isinstance(one.outcome, RetryLater) for each in one.events
    ]


def test_a_micro_batch_beside_one_that_gets_too_much_takes_little_longer_than_a_turn() -> None:
    async def scene() -> None:
        far = Far(busy_seconds=0.1)  # 100 events a second
        lane, number = Lane(far), 0
        for turn in range(9):
            busy = some("busy", number, 400)
            others = [each for n, pipe in enumerate(OTHERS) for each in some(pipe, number + 500 + 20 * n, 20)]
            number += 600
            settled, seconds = await lane.micro_batch([*busy, *others])
            assert ended(settled) == Counter(each.id for each in (*busy, *others)), "each settled, once"
            assert seconds < 2.0 if turn == 0 else seconds <= 1.5
            waits = {each.id for each, _ in set_aside(settled)}
            assert not waits & {each.id for each in others}
            assert not waits & set(far.got), "set aside without a try"
            sent = sum(far.got[each.id] for each in busy)
            assert sent >= 80 * seconds, "it is given what it takes"
            assert sent + len(waits) == len(busy)

    run(scene())


def test_events_without_a_turn_lose_no_attempt_and_say_why_they_wait() -> None:
    async def scene() -> None:
        settled, _ = await Lane(Far(busy_seconds=0.5)).micro_batch(some("busy", 0, 500, attempt=3))
        waits = set_aside(settled)
        assert len(waits) > 300
        assert {outcome.attempts for _, outcome in waits} == {2}  # retry makes it 3 again
        assert {outcome.reason for _, outcome in waits} == {"no_turn: 'busy' gets more events than it takes"}
        assert {one.tries for one in settled if isinstance(one.outcome, RetryLater)} == {0}
        assert {one.lane for one in settled} == {"slow"}

    run(scene())


@pytest.mark.parametrize(
    ("busy_seconds", "limits", "most_seconds"),
    [(0.1, Limits(), 60), (0.001, Limits(rate=100), 60), (0.1, Limits(requests=1), 60)],
    ids=["slow", "rate", "one slot"],
)
def test_a_burst_is_sent_to_its_end_each_event_once_in_about_the_time_that_it_takes(
    busy_seconds: float, limits: Limits, most_seconds: float
) -> None:
    async def scene() -> None:
        far = Far(busy_seconds)
        lane, loop = Lane(far, limits=limits), asyncio.get_running_loop()
        began, events = loop.time(), some("busy", 0, 3_000)
        due_ms = {each.id: 0 for each in events}
        while due_ms:
            trigger = loop.time() // 1.0 + 1.0  # as the query's: once a second, or at once if it is late
            due = [each for each in events if due_ms.get(each.id, lane.clock() + 1) <= lane.clock()]
            settled, _ = await lane.micro_batch(due)
            later = {each.id: outcome for each, outcome in set_aside(settled)}
            assert all(outcome.attempts == 0 for outcome in later.values())
            for each in due:
                del due_ms[each.id]
            due_ms |= {name: outcome.not_before_ms for name, outcome in later.items()}
            await asyncio.sleep(max(0.0, trigger - loop.time()))
        assert far.got == Counter(each.id for each in events)
        assert loop.time() - began <= most_seconds  # 30 s at 100 a second

    run(scene())


def test_one_that_answers_every_request_with_503_gives_its_breaker_and_the_others_their_due() -> None:
    async def scene() -> None:
        far = Far(busy_seconds=0.1)
        far.status = 503
        lane = Lane(far)
        for turn in range(4):
            events = [*some("busy", 1_000 * turn, 200), *some("a", 1_000 * turn + 500, 20)]
            settled, seconds = await lane.micro_batch(events)
            assert ended(settled) == Counter(each.id for each in events)
            assert seconds <= 2.0
            assert all(far.got[each.id] == 1 for each in events if each.pipe == "a")

    run(scene())


def test_one_that_is_quick_because_it_gets_few_requests_stays_in_the_slow_lane() -> None:
    async def scene() -> None:
        lane = Lane(Far(busy_seconds=0.001), limits=Limits(rate=50))
        for turn in range(12):
            settled, _ = await lane.micro_batch(some("busy", 1_000 * turn, 200))
            assert (
                not any(one.recovered for one in settled if isinstance(one.outcome, Delivered)) or turn == 0
            )
            await asyncio.sleep(1.0)

    run(scene())

"""The slow lane in virtual time, with scripted destinations, and retry behind it."""

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from heapq import merge
from typing import Any, Final, cast

from msgspec import Struct, structs

from pipelines.data.transmit.admission.gate import Admission
from pipelines.data.transmit.admission.turns import Turns
from pipelines.data.transmit.connectors.base import Answer, ConnectorContext, ConnectorType
from pipelines.data.transmit.connectors.registry import ConnectorPool
from pipelines.data.transmit.delivery.decide import Delivered, Policy, RetryLater
from pipelines.data.transmit.delivery.delivery import Delivery
from pipelines.data.transmit.delivery.kafka_rows import SettledEvents
from pipelines.data.transmit.delivery.pipe_resolver import PipeResolver
from pipelines.data.transmit.delivery.request_batch import grouped
from pipelines.data.transmit.delivery.timeout import Deadline
from pipelines.data.transmit.delivery.transform_executor import TransformExecutor
from pipelines.data.transmit.events import Event
from pipelines.data.transmit.settings import TransmitSettings
from pipelines.data.transmit.worker import admission_policy, wait_limits
from shared.connectors.spec import ConnectorSpec
from shared.contracts.documents import Catalogue, Destination, Entry, Pipe
from shared.contracts.publish_plan import document_key
from tests.unit.pipelines.data.transmit.retry_topics import RetryTopics
from tests.unit.pipelines.data.transmit.transmit_events import event

TENANT: Final = "t"
CONNECTOR: Final = "far"
SETTINGS: Final = TransmitSettings.model_validate(
    {"bootstrap": "nowhere:9092", "checkpoints": "none", "jars": "none"}
)

Arrivals = Iterator[tuple[float, str]]
"""When events come, seconds from the start, and to which destination."""


class NoOptions(Struct):
    """Options of `Far`."""


class Far:
    """Destinations that accept everything after the seconds that their function gives."""

    def __init__(self, seconds: Mapping[str, Callable[[], float]]) -> None:
        self._seconds = seconds
        self._under_way: Counter[str] = Counter()
        self.most: Counter[str] = Counter()
        """Most requests at once, by destination."""

    async def send(
        self, destination: Destination, options: object, events: Sequence[Event], seconds: float
    ) -> Sequence[Answer]:
        """Answer every event alike."""
        name = destination.name
        self._under_way[name] += 1
        self.most[name] = max(self.most[name], self._under_way[name])
        try:
            await asyncio.sleep(self._seconds[name]())
        finally:
            self._under_way[name] -= 1
        return [Answer(status=200)] * len(events)

    async def close(self) -> None:
        """Nothing to close."""


def documents(*destinations: Destination) -> Catalogue:
    """Destinations, each with a pipe of its name."""
    pipes = [Pipe(name=each.name, tenant=TENANT, source="s", destination=each.name) for each in destinations]
    both: list[Destination | Pipe] = [*destinations, *pipes]
    return Catalogue({document_key(each): Entry(version=1, document=each) for each in both})


class SlowLane:
    """The slow lane with the settings' limits; a micro-batch has `most` events at most."""

    def __init__(self, far: Far, *destinations: Destination, most: int = 5_000) -> None:
        """Needs a coroutine that `virtual_time.run` runs."""
        self._loop = asyncio.get_running_loop()
        self._start, self._most = self._loop.time(), most
        self.catalogue = documents(*destinations)
        self._limits = wait_limits(SETTINGS, "slow")
        self._admission = Admission(admission_policy(SETTINGS, "slow"), self._clock, self._loop.time)

        async def opened(_: ConnectorContext) -> Far:
            return far

        async def known_newest() -> bool:
            return True

        spec = ConnectorSpec(description="far", options=NoOptions)
        kinds: Mapping[str, ConnectorType[Any]] = {CONNECTOR: ConnectorType(spec=spec, open=opened)}
        self._pipes = PipeResolver(lambda: self.catalogue, known_newest, 0.1, kinds)
        self._connectors = ConnectorPool(kinds, cast(ConnectorContext, None))
        self._template = event(0)
        self._coming: deque[Event] = deque()
        self.arrived: dict[str, dict[str, float]] = {each.name: {} for each in destinations}
        """Arrival time of each event of a destination, by its id; seconds from the start."""

        self.delivered: dict[str, dict[str, float]] = {each.name: {} for each in destinations}
        self.waiting = RetryTopics()
        self.longest = 0.0
        """Duration of the longest micro-batch."""

    @property
    def now(self) -> float:
        """Seconds from the start."""
        return self._loop.time() - self._start

    def _clock(self) -> int:
        return 1_800_000_000_000 + int(self._loop.time() * 1000)

    def lags(self, name: str) -> list[float]:
        """Seconds that the events of a destination took, up to now for undelivered ones."""
        delivered = self.delivered[name]
        return [delivered.get(each, self.now) - at for each, at in self.arrived[name].items()]

    async def run(self, seconds: float, *arrivals: Arrivals) -> None:
        """Run micro-batches for some seconds, one a second or as soon as the one before has ended."""
        coming, until = deque(merge(*arrivals)), self.now + seconds
        while self.now < until:
            began = self.now
            while coming and coming[0][0] <= began:
                self._arrive(*coming.popleft())
            self._coming.extend(self.waiting.leave(self._clock()))
            taken = [self._coming.popleft() for _ in range(min(self._most, len(self._coming)))]
            await self.micro_batch(taken)
            self.longest = max(self.longest, self.now - began)
            await asyncio.sleep(max(0.0, began + 1.0 - self.now))

    def _arrive(self, at: float, name: str) -> None:
        number = f"{name}-{len(self.arrived[name])}"
        self.arrived[name][number] = at
        self._coming.append(structs.replace(self._template, pipe=name, id=number))

    async def micro_batch(self, events: Sequence[Event]) -> None:
        """Deliver events, and keep those that are retried later."""
        delivery = self.delivery()
        await asyncio.gather(*(delivery.deliver(of, group) for of, group in grouped(events).items()))

    def delivery(self) -> Delivery:
        """A delivery for one micro-batch that begins now."""
        return Delivery(
            pipes=self._pipes,
            connectors=self._connectors,
            transformer=cast(TransformExecutor, None),
            policy=Policy(local_tries=3, pause=0.05, pause_limit=1.0, give_up=timedelta(hours=24)),
            deadline=Deadline(self._loop.time(), SETTINGS.deadline_seconds),
            admission=self._admission,
            turns=Turns(self._limits.behind),
            wait_limits=self._limits,
            settle=self._settle,
            clock=self._clock,
            jitter=lambda: 0.5,
        )

    def _settle(self, settled: SettledEvents) -> None:
        match settled.outcome:
            case Delivered():
                self.delivered[settled.pipe].update((each.id, self.now) for each in settled.events)
            case RetryLater() as later:
                assert settled.attempt == later.attempts + 1, "an event without a try loses no attempt"
                self.waiting.add(later, list(settled.events))
            case other:
                raise AssertionError(other)


def every(seconds: float, name: str, until: float, start: float = 0.0) -> Arrivals:
    """One event at each interval of so many seconds."""
    return ((start + number * seconds, name) for number in range(int((until - start) / seconds)))

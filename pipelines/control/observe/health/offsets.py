"""The nodes' progress according to Kafka: their groups' offsets, and the ends of the topics."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, Consumer, KafkaException, Message, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._listoffsets import OffsetSpec  # where mypy sees it

from pipelines.control.observe.health.stall_detection import unread
from pipelines.control.observe.ledger.watermarks import Offsets, OffsetsSnapshot, Partition
from shared.contracts import headers as h
from shared.contracts.headers import whole_number
from shared.contracts.retry_times import delay_ms, due_ms
from shared.contracts.topics import TALLIED, Topic
from shared.contracts.topology import CHAIN_GROUPS, INPUTS
from shared.kafka.background_reader import reader_config
from shared.kafka.offset_range_reader import OffsetRange, OffsetRangeReader
from shared.kafka.progress_group import group_name
from shared.runtime.kafka_config import client_config
from shared.runtime.logging import get_logger

_log = get_logger(__name__)
_ANSWER_SECONDS: Final = 2.0
"""A stop waits for no longer."""

_END: OffsetSpec = OffsetSpec.latest()  # type: ignore[no-untyped-call]
_FIRST: OffsetSpec = OffsetSpec.earliest()  # type: ignore[no-untyped-call]


_RETRY: Final = "retry"
_NEVER: Final = (-1, 0)


class Progress:
    """Asks the brokers; belongs to one thread. A context manager."""

    def __init__(self, bootstrap: str, client_id: str) -> None:
        self._bootstrap, self._client_id = bootstrap, client_id
        config = client_config(bootstrap) | {"client.id": client_id, "reconnect.backoff.max.ms": 1_000}
        self._admin = AdminClient(config, logger=_log)
        # Not the AdminClient: see shared.kafka.progress_group.
        self._groups = {name: self._member(name) for name in CHAIN_GROUPS}
        self._due: dict[Partition, tuple[int, int]] = {}
        """An offset of each retry partition, and when its record is due."""

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_: object) -> None:
        for consumer in self._groups.values():
            consumer.close()

    def _member(self, name: str) -> Consumer:
        config: dict[str, Any] = reader_config(self._bootstrap, self._client_id)
        return Consumer(config | {"group.id": group_name(name)}, logger=_log)

    def look(self, covered: Offsets, now_ms: int) -> OffsetsSnapshot:
        """The offsets now. A reader before a partition's beginning is moved there: expired records are gone.

        A group that stands beyond a partition's end read an earlier topic of that name, nothing of this one.

        Raises:
            KafkaException: if the brokers do not answer.
        """
        places = self._places()
        found = {name: self._committed(name, places) for name in CHAIN_GROUPS}
        ends = self._offsets(places, _END)
        committed = {name: _of_this_topic(read, ends) for name, read in found.items()}
        readers = [(covered, TALLIED), *((committed[name], INPUTS[name]) for name in CHAIN_GROUPS)]
        behind = {
            place
            for read, topics in readers
            for place, end in ends.items()
            if place[0] in topics and read.get(place, 0) < end
        }
        begins = self._offsets(behind, _FIRST)
        return OffsetsSnapshot(
            at_ms=now_ms,
            committed={name: _raised(committed[name], begins, INPUTS[name]) for name in CHAIN_GROUPS},
            ends=ends,
            covered=_raised(covered, begins, TALLIED),
            expired={place: at for place, at in begins.items() if covered.get(place, at) < at},
        )

    def ages(self, look: OffsetsSnapshot) -> Mapping[Partition, int]:
        """The time of the first record that audit has not read, by partition, epoch milliseconds.

        Raises:
            KafkaException: if the brokers do not answer.
            TimeoutError: if they stop to.
        """
        ends = look.ends_of(TALLIED)
        starts = {place: look.covered.get(place, 0) for place in ends}
        first = self._first({place: at for place, at in starts.items() if at < ends[place]})
        return {place: message.timestamp()[1] for place, message in first.items()}

    def due(self, look: OffsetsSnapshot) -> Mapping[Partition, int]:
        """When the first unread record of the retry topics' partitions is due, epoch milliseconds.

        Raises:
            KafkaException: if the brokers do not answer.
            TimeoutError: if they stop to.
        """
        read = look.committed.get(_RETRY, {})
        starts = {place: read.get(place, 0) for place in unread(look, _RETRY)}
        new = {place: at for place, at in starts.items() if self._due.get(place, _NEVER)[0] != at}
        for place, message in self._first(new).items():
            self._due[place] = (new[place], _due_ms(Topic(place[0]), message, look.at_ms))
        self._due = {
            place: (at, min(due, look.at_ms + delay_ms(Topic(place[0]))))  # the clock may have been set back
            for place, (at, due) in self._due.items()
            if starts.get(place) == at
        }
        return {place: due for place, (_, due) in self._due.items()}

    def _first(self, starts: Mapping[Partition, int]) -> Mapping[Partition, Message]:
        """The record at each of these offsets, or the next one."""
        if not starts:
            return {}
        spans = [OffsetRange(*place, at, at + 1) for place, at in starts.items()]
        with OffsetRangeReader(self._bootstrap, self._client_id, seconds=_ANSWER_SECONDS) as reader:
            return {(m.topic() or "", m.partition() or 0): m for m in reader.read(spans)}

    def _places(self) -> list[Partition]:
        """Every partition that audit or the slow lane reads; of a topic that is not there yet, none."""
        self._admin.poll(0)
        known = self._admin.list_topics(timeout=_ANSWER_SECONDS).topics
        wanted = (*TALLIED, Topic.OUTBOUND_SLOW)
        return [(topic.value, p) for topic in wanted if topic in known for p in known[topic].partitions]

    def _committed(self, name: str, places: Iterable[Partition]) -> Offsets:
        consumer = self._groups[name]
        consumer.poll(0)  # for its log lines: it is assigned nothing
        asked = [TopicPartition(*place) for place in places if place[0] in INPUTS[name]]
        found = consumer.committed(asked, timeout=_ANSWER_SECONDS)
        refused = [at.error for at in found if at.error]
        if refused:
            raise KafkaException(refused[0])
        return {(at.topic, at.partition): at.offset for at in found if at.offset >= 0}

    def _offsets(self, places: Iterable[Partition], spec: OffsetSpec) -> dict[Partition, int]:
        asked = {TopicPartition(*place): spec for place in places}
        if not asked:
            return {}
        found = self._admin.list_offsets(asked, request_timeout=_ANSWER_SECONDS)
        return {
            (at.topic, at.partition): future.result(timeout=2 * _ANSWER_SECONDS).offset
            for at, future in found.items()
        }


def _due_ms(topic: Topic, message: Message, now_ms: int) -> int:
    """When retry takes a waiting record on, epoch milliseconds; one that it cannot read does not wait."""
    headers = cast(list[tuple[str, bytes | None]], message.headers() or [])
    not_before = next((value for name, value in reversed(headers) if name == h.NOT_BEFORE), None)
    kind, at_ms = message.timestamp()
    written_ms = now_ms if kind == TIMESTAMP_NOT_AVAILABLE else at_ms
    asked_ms = whole_number(not_before)
    return due_ms(topic, written_ms if asked_ms is None else asked_ms, written_ms, now_ms)


def _of_this_topic(read: Offsets, ends: Offsets) -> Offsets:
    return {place: at for place, at in read.items() if at <= ends[place]}


def _raised(read: Offsets, begins: Offsets, topics: Iterable[Topic]) -> Offsets:
    wanted = frozenset(topics)
    mine = {place: max(read.get(place, 0), at) for place, at in begins.items() if place[0] in wanted and at}
    return {**read, **mine}

"""Where the queries and groups of a local side stand, and a checkpoint that begins at given offsets.

Spark's Kafka source writes its first offsets to `sources/0/0` of a checkpoint, and begins there while no
batch has been planned. So a checkpoint of that file alone is one that any version can read.
"""

import json
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from shared.contracts.replay_range import REPLAY_FILE, ReplayRange, encode_replay_range
from shared.contracts.topology import INPUTS

_ANSWER_SECONDS: Final = 10.0
_FIRST: Final = "sources/0/0"

Offsets = dict[str, int]
"""By `topic/partition`, the offset of the next record."""

_ByTopic = dict[str, dict[str, int]]


def query_positions(checkpoints: Path) -> dict[str, Offsets]:
    """By query, where it would go on; queries without a checkpoint are missing.

    Raises:
        ValueError: if a checkpoint cannot be read.
        OSError: likewise.
    """
    found = {query: _checkpoint(checkpoints / query) for query in INPUTS if (checkpoints / query).is_dir()}
    return {query: offsets for query, offsets in found.items() if offsets}


def write_checkpoint(folder: Path, offsets: Mapping[str, int], replay: ReplayRange | None = None) -> None:
    """Make a query's checkpoint anew, so that it begins at these offsets; the old one is gone.

    With a replay the query marks what it reads of it.
    """
    draft = folder.with_name(f"{folder.name}.new")
    shutil.rmtree(draft, ignore_errors=True)
    first = draft / _FIRST
    first.parent.mkdir(parents=True)
    first.write_bytes(b"\0v1\n" + json.dumps(by_topic(offsets)).encode())  # as Spark: zero, version, JSON
    if replay is not None:
        (draft / REPLAY_FILE).write_bytes(encode_replay_range(replay))
    shutil.rmtree(folder, ignore_errors=True)
    draft.rename(folder)


def by_topic(offsets: Mapping[str, int]) -> _ByTopic:
    """Offsets by topic and partition, as Spark's Kafka source writes them."""
    found: _ByTopic = {}
    for name, offset in offsets.items():
        topic, _, partition = name.rpartition("/")
        found.setdefault(topic, {})[partition] = offset
    return found


def group_positions(admin: AdminClient, groups: Iterable[str]) -> dict[str, Offsets]:
    """By consumer group, what it has committed; groups that have committed nothing are missing.

    Raises:
        KafkaException: if the brokers do not answer.
    """
    found = {}
    for group in groups:
        asked = [ConsumerGroupTopicPartitions(group)]
        (future,) = admin.list_consumer_group_offsets(asked, request_timeout=_ANSWER_SECONDS).values()
        partitions = future.result(_ANSWER_SECONDS).topic_partitions or []
        offsets = {f"{p.topic}/{p.partition}": p.offset for p in partitions if p.offset >= 0}
        if offsets:
            found[group] = offsets
    return found


def commit_positions(admin: AdminClient, group: str, offsets: Mapping[str, int]) -> None:
    """Let a group without members go on at these offsets.

    Raises:
        KafkaException: if the brokers refuse, for example because the group has members.
    """
    wanted = [_partition(name, offset) for name, offset in offsets.items()]
    asked: Any = [ConsumerGroupTopicPartitions(group, wanted)]
    (future,) = admin.alter_consumer_group_offsets(asked, request_timeout=_ANSWER_SECONDS).values()
    for each in future.result(_ANSWER_SECONDS).topic_partitions or []:
        if each.error is not None:
            raise KafkaException(each.error)


def _partition(name: str, offset: int) -> TopicPartition:
    topic, _, partition = name.rpartition("/")
    return TopicPartition(topic, int(partition), offset)


def _checkpoint(folder: Path) -> Offsets:
    done = _batches(folder / "offsets") & _batches(folder / "commits")
    place = folder / "offsets" / str(max(done)) if done else folder / _FIRST
    if not place.exists():
        return {}
    text = place.read_bytes()
    written = msgspec.json.decode(text[text.rindex(b"\n{") :], type=_ByTopic)
    return {f"{topic}/{p}": offset for topic, found in written.items() for p, offset in found.items()}


def _batches(log: Path) -> set[int]:
    return {int(each.name) for each in log.glob("*") if each.name.isdigit()}

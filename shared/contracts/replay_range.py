"""Records that a rollback lets ingest process again: a file in its checkpoint says which are marked.

The range is given by offsets, so it is the same after any restart, and harmless once it is passed. It lies in
the checkpoint's folder because it belongs to it: both are written together. If a checkpoint is set aside
because records expired, the next one gets the rest of the range.
"""

import hashlib
from collections.abc import Container, Mapping
from typing import Final

import msgspec

REPLAY_FILE: Final = "replay.json"
"""Name of the file in the folder of ingest's checkpoint."""

REPLAYING_NODE: Final = "ingest"
"""The one node that goes back: what the nodes after it had to read was written by the bad version."""

Offsets = Mapping[str, Mapping[str, int]]
"""Offsets by topic and partition, as Spark's Kafka source writes them."""

_NAME_BYTES: Final = 8


class ReplayRange(msgspec.Struct, frozen=True, kw_only=True):
    """Records that are processed again."""

    name: str
    """Unique name of this replay."""

    before: dict[str, dict[str, int]]
    """Offsets by topic and partition: records before them are marked."""

    def without(self, partitions: Container[tuple[str, str]]) -> "ReplayRange":
        """The range without recreated partitions: these hold other records at its offsets."""
        before = {
            topic: {each: end for each, end in ends.items() if (topic, each) not in partitions}
            for topic, ends in self.before.items()
        }
        return msgspec.structs.replace(self, before=before)

    def left(self, reached: Offsets) -> bool:
        """Whether a query that goes on at `reached` still has to mark some."""
        return any(
            reached.get(topic, {}).get(partition, 0) < end
            for topic, ends in self.before.items()
            for partition, end in ends.items()
        )


def replay_of(since: Offsets, before: Offsets) -> ReplayRange:
    """The replay of these records: the same name for the same ones, so that it may be asked for twice."""
    text = msgspec.json.encode([since, before], order="deterministic")
    name = hashlib.blake2b(text, digest_size=_NAME_BYTES).hexdigest()
    return ReplayRange(name=name, before={topic: dict(ends) for topic, ends in before.items()})


_encoder = msgspec.json.Encoder(order="deterministic")
_decoder = msgspec.json.Decoder(ReplayRange)


def encode_replay_range(replay: ReplayRange) -> bytes:
    """The content of REPLAY_FILE."""
    return _encoder.encode(replay)


def decode_replay_range(content: bytes | str) -> ReplayRange:
    """The range in the content of REPLAY_FILE.

    Raises:
        msgspec.MsgspecError: if it cannot be decoded.
    """
    return _decoder.decode(content)

"""Where the queries of a side stand by their checkpoints, and a checkpoint that begins at given offsets.

Spark's Kafka source writes its first offsets to `sources/0/0` of a checkpoint, and begins there while no
batch has been planned. So a checkpoint of that file alone is one that any version can read. Where the files
are, a folder or a bucket, is the store's affair.
"""

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Final, Protocol

import msgspec

from shared.contracts.replay_range import REPLAY_FILE, ReplayRange, encode_replay_range
from shared.contracts.topology import CHAIN_GROUPS, CHAIN_QUERIES

_FIRST: Final = "sources/0/0"

Offsets = dict[str, int]
"""The offset of the next record, by `topic/partition`."""

_ByTopic = dict[str, dict[str, int]]


class CheckpointStore(Protocol):
    """The checkpoints of one side. Methods raise OSError if the files cannot be had."""

    def numbers(self, query: str, log: str) -> set[int]:
        """Numbers that are names of files in a folder of a query's checkpoint; empty without the folder."""
        ...

    def read(self, query: str, file: str) -> bytes | None:
        """The content of a file of a query's checkpoint; None if it is not there."""
        ...

    def replace(self, query: str, files: Mapping[str, bytes]) -> None:
        """Let a query's checkpoint consist of these files alone; may be called again after it broke off."""
        ...


def query_positions(store: CheckpointStore, queries: Iterable[str] = CHAIN_GROUPS) -> dict[str, Offsets]:
    """The offsets at which each query would go on; queries without a checkpoint are missing.

    The meter's query is left out: it goes on where its ledger ends, and is never set to a position.

    Raises:
        ValueError: if a checkpoint cannot be read.
        OSError: likewise.
    """
    found = {query: _position(store, query) for query in queries}
    return {query: offsets for query, offsets in found.items() if offsets}


def readable_positions(store: CheckpointStore) -> dict[str, Offsets]:
    """Like `query_positions`, but skips queries with a checkpoint that cannot be decoded.

    Raises:
        OSError: if the files cannot be had.
    """
    found: dict[str, Offsets] = {}
    for query in CHAIN_GROUPS:
        with suppress(ValueError):
            found |= query_positions(store, (query,))
    return found


def without_checkpoint(store: CheckpointStore) -> list[str]:
    """The queries of the chain that have no checkpoint yet: each begins with the first records of its topics.

    Raises:
        OSError: if the files cannot be had.
    """
    return [query for query in CHAIN_QUERIES if _written(store, query) is None]


def write_checkpoint(
    store: CheckpointStore, query: str, offsets: Mapping[str, int], replay: ReplayRange | None = None
) -> None:
    """Make a query's checkpoint anew, so that it begins at these offsets; the old one is gone.

    With a replay the query marks what it reads of it.
    """
    # As Spark: zero, version, JSON.
    files = {_FIRST: b"\0v1\n" + json.dumps(by_topic(offsets)).encode()}
    if replay is not None:
        files[REPLAY_FILE] = encode_replay_range(replay)
    store.replace(query, files)


def by_topic(offsets: Mapping[str, int]) -> _ByTopic:
    """Offsets by topic and partition, as Spark's Kafka source writes them."""
    found: _ByTopic = {}
    for name, offset in offsets.items():
        topic, _, partition = name.rpartition("/")
        found.setdefault(topic, {})[partition] = offset
    return found


def _position(store: CheckpointStore, query: str) -> Offsets:
    text = _written(store, query)
    if text is None:
        return {}
    written = msgspec.json.decode(text[text.rindex(b"\n{") :], type=_ByTopic)
    return {f"{topic}/{p}": offset for topic, found in written.items() for p, offset in found.items()}


def _written(store: CheckpointStore, query: str) -> bytes | None:
    """The content of the file with a query's offsets in its checkpoint; None without a checkpoint."""
    done = store.numbers(query, "offsets") & store.numbers(query, "commits")
    return store.read(query, f"offsets/{max(done)}" if done else _FIRST)

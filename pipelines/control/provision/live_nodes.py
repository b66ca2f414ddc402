"""Which configuration the nodes of a side use, as their heartbeats say."""

from typing import Final

import msgspec
from confluent_kafka import Message

from shared.contracts.heartbeats import Heartbeat, Usage, decode, usage
from shared.runtime.logging import get_logger

_log = get_logger(__name__)
WINDOW_MS: Final = 60_000
"""Older heartbeats than this do not count any more."""


class LiveNodes:
    """`take` is called on one thread, `usage` may be on another."""

    def __init__(self) -> None:
        self._newest: dict[bytes, Heartbeat] = {}

    def take(self, messages: list[Message]) -> None:
        """Learn from records of `heartbeats`."""
        newest = dict(self._newest)
        for message in messages:
            try:
                newest[message.key() or b""] = decode(message.value() or b"")
            except msgspec.MsgspecError as error:
                _log.warning("heartbeat ignored: it cannot be read", extra={"error": str(error)})
        last_ms = max((each.at_ms for each in newest.values()), default=0)
        self._newest = {
            key: each for key, each in newest.items() if each.at_ms + WINDOW_MS > last_ms and each.valid_ms
        }

    def usage(self, now_ms: int) -> Usage:
        """The configuration that all live processes of a node use, by node."""
        return usage(self._newest.values(), now_ms)

    def instances(self, now_ms: int) -> dict[str, int]:
        """The number of live processes, by node."""
        found: dict[str, int] = {}
        for each in self._newest.values():
            if now_ms < each.at_ms + each.valid_ms:
                found[each.node] = found.get(each.node, 0) + 1
        return found

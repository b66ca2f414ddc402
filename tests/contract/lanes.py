"""Helpers for tests of lanes and isolation: slow paths, requests and ids."""

import asyncio
from collections import Counter

from pipelines.data.transmit.delivery.kafka_rows import Row
from shared.contracts import headers as h
from shared.contracts.topics import Topic
from tests.contract.transmit_rig import Rig
from tests.harness.scripted_server import reply

PATIENCE = 3.0
"""More than the good destinations, in this process, need on a busy machine: transmit waits for four times as
long if the machine stands still."""


def late(rig: Rig, path: str, seconds: float, status: int = 200) -> None:
    """Let a path answer after some seconds."""

    async def manner(_: bytes, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(seconds)
        writer.write(reply(status))

    rig.server.manners[path] = manner


def asked(rig: Rig) -> Counter[str]:
    """Number of requests by path."""
    return Counter(head.split()[1].decode() for head in rig.server.heads)


def ids(rows: list[Row], topic: Topic) -> list[str]:
    """Ids of the records that go to a topic."""
    return sorted((dict(r.headers)[h.CE_ID] or b"").decode() for r in rows if r.topic == topic)

"""Masks and a transform through the whole side: the destination gets data as the customer configured."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

from confluent_kafka import Consumer, TopicPartition

from scripts.load.receiver import Receiver, running
from shared.contracts.topics import Topic
from shared.kafka.retained_offsets import retained_offsets
from tests.harness.live_side import LiveSide
from tests.harness.waiting import eventually

SECRET = "S3CR3T@example.org"
NUMBER = "12345678901234567890.12345678901234567890"
DATA = f'{{ "user": {{"email": "{SECRET}", "id":7}}, "n": {NUMBER} }}'


def documents(tenant: str, url: str) -> list[dict[str, Any]]:
    mask = {"path": "$.data.user.email"}
    pipes: dict[str, dict[str, Any]] = {
        "plain": {},
        "redacted": {"masks": [mask | {"action": "redact"}]},
        "hashed": {"masks": [mask | {"action": "hash"}], "transform": "{who: data.user.email, n: data.n}"},
        "failing": {"transform": "abs(data.user.email)"},
    }
    owned = {"tenant": tenant}
    return [
        {"kind": "source", "name": tenant, "write_keys": [f"key-of-{tenant}"], **owned},
        *(
            {"kind": "destination", "name": f"{tenant}-{name}", "options": {"url": f"{url}/{name}"}, **owned}
            for name in pipes
        ),
        *(
            {"kind": "pipe", "name": f"{tenant}-{name}", "source": tenant, "destination": f"{tenant}-{name}"}
            | owned
            | fields
            for name, fields in pipes.items()
        ),
    ]


def post(live: LiveSide, tenant: str) -> bool:
    """Whether collect accepted the event."""
    event = f'{{"specversion":"1.0","id":"e1","source":"t","type":"t","data":{DATA}}}'
    return live.post(f"key-of-{tenant}", event.encode(), "application/cloudevents+json")


def written(live: LiveSide, topic: str, pipe: str) -> list[bytes]:
    """Headers and values of a topic's records of one pipe, as bytes."""
    consumer = Consumer(
        {"bootstrap.servers": live.bootstrap, "group.id": uuid4().hex, "enable.auto.commit": False}
    )
    try:
        parts = [
            TopicPartition(topic, part, 0)
            for part in consumer.list_topics(topic, 60).topics[topic].partitions
        ]
        consumer.assign(parts)
        left = sum(retained_offsets(consumer, part, seconds=60).end for part in parts)
        found = []
        while left > 0 and (message := consumer.poll(60)) is not None:
            left -= 1
            text = repr(message.headers()).encode() + (message.value() or b"")
            found += [text] if pipe.encode() in text else []
        return found
    finally:
        consumer.close()


def test_deliveries_are_masked_and_no_receipt_or_log_has_the_value(live: LiveSide, tmp_path: Path) -> None:
    tenant = f"masks-{uuid4().hex[:8]}"
    live.side.secrets.write_text(f"{tenant}/masks: a-key\n")
    live.side.secrets.chmod(0o600)
    bodies: dict[str, bytes] = {}

    def keep(path: str, body: bytes, _: Mapping[str, str]) -> None:
        bodies[path] = body

    with running(Receiver(on_body=keep)) as receiver:
        live.apply(*documents(tenant, receiver.url))
        eventually(lambda: post(live, tenant), 60, "the source is known")
        eventually(lambda: len(bodies) == 3, 120, "all three pipes deliver")
    assert DATA.encode() in bodies["/plain"]
    assert b'"data":{"user":{"email":"***","id":7},"n":' + NUMBER.encode() in bodies["/redacted"]
    hashed = bodies["/hashed"]
    assert NUMBER.encode() in hashed
    assert len(bytes.fromhex(json.loads(hashed)[0]["data"]["who"])) == 32
    assert SECRET.encode() not in bodies["/redacted"] + hashed

    dead = eventually(lambda: written(live, Topic.DEAD_LETTER, f"{tenant}-failing"), 60, "one is dead")
    assert len(dead) == 1
    assert b"transform_failed: abs() takes number, and was given string" in dead[0]
    receipts = eventually(lambda: written(live, Topic.RECEIPTS, f"{tenant}-failing"), 60, "it has a receipt")
    assert SECRET.encode() not in b"".join(receipts)
    assert not [
        log for log in live.side.logs.rglob("*") if log.is_file() and SECRET.encode() in log.read_bytes()
    ]

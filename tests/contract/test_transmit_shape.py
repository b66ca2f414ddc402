"""Masks and transforms on the wire: requests, and records of events that are not sent."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from pipelines.data.transmit.delivery.kafka_rows import Row
from pipelines.data.transmit.events import Event
from shared.contracts import headers as h
from shared.contracts.masks import Mask
from shared.contracts.topics import Topic
from tests.contract.transmit_rig import AMPLE, Rig, receipts, records
from tests.harness.scripted_server import reply
from tests.unit.pipelines.data.transmit.transmit_events import flat_batch, row

SECRET = "S3CR3T@example.org"
VALUE = json.dumps({"user": {"email": SECRET}, "n": 1}).encode()
EMAIL = [Mask(path="$.data.user.email", action="redact")]
HASHED = [Mask(path="$.data.user.email", action="hash")]


@pytest.fixture
def rig() -> Iterator[Rig]:
    fresh = Rig()
    fresh.server.answer("/", reply(200))
    yield fresh
    fresh.close()


def reason(of: Row) -> str:
    return (dict(of.headers)[h.REASON] or b"").decode()


def sent(rig: Rig) -> list[Any]:
    """The data of the events that the destination received."""
    return [item["data"] for body in rig.server.bodies for item in json.loads(body)]


NASTY = b'{ "n":12345678901234567890,"d":0.10, "\\u0061":1,"a":1 , "e":1E+2}'


def test_where_nothing_is_set_the_bytes_are_the_bytes_received(rig: Rig) -> None:
    rig.pipe("p1", "/")
    rig.deliver(flat_batch([row(1, value=NASTY)]))
    assert b'"data":' + NASTY + b"}]" in rig.server.bodies[0]


def test_a_mask_that_meets_nothing_leaves_the_bytes_received(rig: Rig) -> None:
    rig.pipe("p1", "/", masks=EMAIL)
    rig.deliver(flat_batch([row(1, value=NASTY)]))
    assert b'"data":' + NASTY + b"}]" in rig.server.bodies[0]


def test_the_destination_receives_what_masks_and_transform_leave(rig: Rig) -> None:
    rig.pipe("p1", "/", masks=EMAIL, transform="{id: id, user: data.user}")
    rows = rig.deliver(flat_batch([row(1, value=VALUE), row(2, value=VALUE)]))
    assert sent(rig) == [{"id": f"e{n}", "user": {"email": "***"}} for n in (1, 2)]
    assert [receipt.result for receipt in receipts(rows)] == ["delivered"]
    assert SECRET.encode() not in b"".join(rig.server.bodies)


@pytest.mark.parametrize(("status", "topic"), [(503, Topic.RETRY_IN_30S), (400, Topic.DEAD_LETTER)])
def test_undelivered_events_wait_unchanged(rig: Rig, status: int, topic: Topic) -> None:
    rig.server.answer("/", reply(status))
    rig.pipe("p1", "/", masks=[*EMAIL, Mask(path="$.subject", action="drop")], transform="data.user")
    rows = rig.deliver(flat_batch([row(1, value=VALUE)]))
    (moved,) = records(rows)
    assert (moved.topic, moved.value) == (topic, VALUE)
    assert SECRET.encode() not in b"".join(rig.server.bodies)
    assert SECRET not in reason(moved) + str(receipts(rows))


def test_a_transform_that_fails_takes_its_event_alone_to_the_dead_letters(rig: Rig) -> None:
    rig.pipe("p1", "/", transform="{twice: sum([data.n, data.n])}")
    texts = [b'{"n":1}', b'{"n":"%b"}' % SECRET.encode(), b'{"n":3}']
    rows = rig.deliver(flat_batch([row(n, value=text) for n, text in enumerate(texts, 1)]))
    assert sent(rig) == [{"twice": 2}, {"twice": 6}]
    (dead,) = records(rows)
    assert (dead.topic, dead.value, dict(dead.headers)[h.CE_ID]) == (Topic.DEAD_LETTER, texts[1], b"e2")
    assert reason(dead) == "transform_failed: sum() takes array-number, and was given string"
    assert sorted((r.result, tuple(r.ids)) for r in receipts(rows)) == [
        ("dead", ("e2",)),
        ("delivered", ("e1", "e3")),
    ]
    assert SECRET not in str(receipts(rows))


def test_without_its_key_nothing_leaves_and_the_event_is_retried_later(rig: Rig) -> None:
    rig.pipe("p1", "/", masks=HASHED)
    rows = rig.deliver(flat_batch([row(1, value=VALUE)]))
    (later,) = records(rows)
    assert (later.topic, later.value) == (Topic.RETRY_IN_30S, VALUE)
    assert reason(later).startswith("secret_missing: there is no secret://t/masks")
    assert not rig.server.bodies
    assert not rig.dialled


def test_with_its_key_the_same_event_leaves_hashed(rig: Rig) -> None:
    rig.pipe("p1", "/", masks=HASHED)
    rig.secrets.values["secret://t/masks"] = "a-key"
    rig.deliver(flat_batch([row(1, value=VALUE), row(2, value=VALUE)]))
    one, two = sent(rig)
    assert one == two
    assert len(bytes.fromhex(one["user"]["email"])) == 32


def test_an_empty_key_is_refused(rig: Rig) -> None:
    rig.pipe("p1", "/", masks=HASHED)
    rig.secrets.values["secret://t/masks"] = ""
    rig.deliver(flat_batch([row(1, value=VALUE)]))
    assert not rig.server.bodies


def test_a_pipe_that_a_newer_version_wrote_waits_and_sends_nothing(rig: Rig) -> None:
    rig.pipe("p1", "/", masks=[Mask(path="$..email", action="redact")])
    rig.pipe("p2", "/", transform="some future thing")
    rows = rig.deliver(flat_batch([row(1, value=VALUE), row(2, value=VALUE, pipe="p2")]))
    assert {record.topic for record in records(rows)} == {Topic.RETRY_IN_30S}
    assert not rig.server.bodies


def test_batches_are_split_by_the_size_after_masks_and_transforms(rig: Rig) -> None:
    rig.pipe("p1", "/", max_bytes=4_096, transform="data.small")
    rig.pipe("p2", "/", max_bytes=4_096)
    large = json.dumps({"small": 1, "pad": "x" * 2_000}).encode()
    rig.deliver(flat_batch([row(n, value=large) for n in range(8)]))
    assert len(rig.server.bodies) == 1
    rig.deliver(flat_batch([row(n, value=large, pipe="p2") for n in range(10, 18)]))
    assert len(rig.server.bodies) == 1 + 8


COSTLY = "data[].[[@,@],[@,@],[@,@],[@,@],[@,@],[@,@],[@,@],[@,@]]"
"""A transform that exhausts its step budget at each of these events."""

LARGE = json.dumps(list(range(50_000))).encode()


COSTLY_EVENTS = 240
"""Transforming all of them takes longer than either lane has below."""

LONG = [6, pytest.param(8, marks=pytest.mark.proof)]
"""Seconds of a lane; the costly thread takes most of them on a busy machine."""


def fast_and_slow(rig: Rig, deadline: float) -> tuple[list[Row], list[str]]:
    """Records of events with a costly transform, and results of sixty events with a cheap one."""
    rig.pipe("costly", "/", transform=COSTLY)
    rig.pipe("light", "/light", transform="{n: data.n}")
    rig.server.answer("/light", reply(200))
    rows = rig.deliver(
        flat_batch([row(n, value=LARGE, pipe="costly") for n in range(COSTLY_EVENTS)]),
        flat_batch([row(n, pipe="light") for n in range(1_000, 1_060)]),
        deadline=deadline,
    )
    moved = [record for record in records(rows) if dict(record.headers)[h.PIPE] == b"costly"]
    assert len(moved) == COSTLY_EVENTS
    return moved, [receipt.result for receipt in receipts(rows) if receipt.pipe == "light"]


@pytest.mark.parametrize("seconds", LONG)
def test_the_fast_lane_does_not_wait_for_a_costly_transform(seconds: int) -> None:
    rig = Rig(lane="fast", patience=seconds)
    try:
        moved, light = fast_and_slow(rig, deadline=60)
    finally:
        rig.close()
    assert light == ["delivered"]
    assert {record.topic for record in moved} == {Topic.DEAD_LETTER, Topic.OUTBOUND_SLOW}
    assert {record.value for record in moved} == {LARGE}
    assert rig.seconds < 60, "the deadline"


@pytest.mark.parametrize("seconds", LONG)
def test_the_slow_lane_waits_for_it_until_the_deadline(rig: Rig, seconds: int) -> None:
    moved, light = fast_and_slow(rig, deadline=seconds)
    assert light == ["delivered"]
    assert {record.topic for record in moved} == {Topic.DEAD_LETTER, Topic.RETRY_IN_30S}
    assert {reason(record).partition(":")[0] for record in moved} == {"transform_failed", "deadline"}
    assert rig.seconds < seconds + AMPLE, "the deadline, and one costly event more"


def test_a_defect_in_shaping_is_retried_and_does_not_end_the_task(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Event) -> Event:
        raise ZeroDivisionError(SECRET)

    monkeypatch.setattr("shared.transformation.pipe_transform.PipeTransform.apply", broken)
    rig.pipe("p1", "/", masks=EMAIL)
    (later,) = records(rig.deliver(flat_batch([row(1, value=VALUE)])))
    assert (later.topic, reason(later)) == (Topic.RETRY_IN_30S, "internal: ZeroDivisionError")
    assert not rig.server.bodies


def test_data_that_a_mask_makes_too_large_is_a_dead_letter_as_it_was(rig: Rig) -> None:
    rig.secrets.values["secret://t/masks"] = "a-key"
    rig.pipe("p1", "/", masks=[Mask(path="$.data[*]", action="hash")])
    large = b"[%b]" % b",".join([b"1"] * 20_000)
    rows = rig.deliver(flat_batch([row(1, value=large), row(2, value=b"[1,2]")]))
    (dead,) = records(rows)
    assert (dead.topic, dead.value) == (Topic.DEAD_LETTER, large)
    assert reason(dead) == "mask_failed: the masked data has more than 524288 bytes"
    assert sorted((r.result, tuple(r.ids)) for r in receipts(rows)) == [
        ("dead", ("e1",)),
        ("delivered", ("e2",)),
    ]

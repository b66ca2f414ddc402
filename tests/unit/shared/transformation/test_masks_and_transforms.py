"""Masks come before the transform, which cannot reveal a masked value; masks of attributes and whole data."""

import json
import time
from typing import Any

import pytest

from pipelines.data.transmit.connectors.http.formats import body
from shared.contracts.documents import Pipe
from shared.contracts.limits import MAX_EVENT_BYTES
from shared.contracts.masks import MAX_MASKS, Mask
from shared.transformation.pipe_transform import (
    PipeTransform,
    TransformError,
)
from tests.unit.pipelines.data.transmit.transmit_events import event
from tests.unit.shared.transformation.pipes import SECRET, shaped

# Masks and transforms together


def redact(*paths: str) -> list[Mask]:
    return [Mask(path=path, action="redact") for path in paths]


@pytest.mark.parametrize(
    "transform", ["@", "data", "data.*", "to_string(@)", "values(data)", "[data, data.a]", None]
)
@pytest.mark.parametrize("action", ["redact", "drop", "hash"])
def test_a_transform_cannot_carry_a_masked_value_away(transform: str | None, action: Any) -> None:
    masks = [Mask(path="$.data.a.b", action=action)]
    after = shaped(transform, masks, value=b'{"a":{"b":"%b","c":"kept"}}' % SECRET.encode())
    assert SECRET.encode() not in body([after])
    assert b"kept" in body([after])


def with_subject(subject: str) -> dict[str, Any]:
    headers = {"ce_subject": subject, "ce_kept": "kept"} | {
        "ce_specversion": "1.0",
        "ce_source": "s",
        "ce_type": "t",
    }
    numbers = dict.fromkeys(("hifi_minute", "hifi_received", "hifi_attempt"), "1")
    stamps = {"hifi_tenant": "t", "hifi_pipe": "p1", "ce_id": "e1", **numbers}
    return {"headers": json.dumps(headers | stamps).encode()}


@pytest.mark.parametrize("action", ["redact", "drop", "hash"])
def test_an_attribute_is_masked_in_the_event_and_in_its_headers(action: Any) -> None:
    after = shaped(None, [Mask(path="$.subject", action=action)], **with_subject(SECRET))
    assert SECRET.encode() not in body([after]) + after.texts
    item = json.loads(body([after]))[0]
    assert ("subject" in item) == (action != "drop") == ("ce_subject" in dict(after.headers))
    assert item["kept"] == "kept"
    assert after.as_read.attributes != after.attributes
    assert SECRET.encode() in after.as_read.texts


def test_an_event_without_masked_values_is_the_same_object() -> None:
    pipe = Pipe(name="p1", tenant="t", source="s", destination="d", masks=redact("$.data.x.y", "$.subject"))
    before = event(1, value=b'{ "a" : 1.10 }')
    assert PipeTransform(pipe).apply(before, b"") is before


def test_data_that_is_not_json_can_be_masked_as_a_whole_only() -> None:
    plain = {"value": SECRET.encode(), "content_type": "text/plain"}
    assert shaped(None, redact("$.data"), **plain).value == b"***"
    assert shaped(None, [Mask(path="$.data", action="drop")], **plain).value is None
    assert SECRET not in str(shaped(None, [Mask(path="$.data", action="hash")], **plain).value)
    with pytest.raises(TransformError, match="mask_failed: the data is not JSON") as caught:
        shaped(None, redact("$.data.x"), **plain)
    assert SECRET not in str(caught.value)


def test_json_data_can_be_masked_as_a_whole() -> None:
    assert shaped(None, redact("$.data")).value == b'"***"'
    assert shaped(None, [Mask(path="$.data", action="drop")]).value is None


def test_data_that_masks_make_larger_than_an_event_may_be_fails() -> None:
    each = [Mask(path="$.data[*]", action="hash")]
    most = (MAX_EVENT_BYTES - 1) // len(b'"%b",' % (b"0" * 64))
    assert len(shaped(None, each, value=numbers(most)).value or b"") <= MAX_EVENT_BYTES
    with pytest.raises(TransformError, match="mask_failed: the masked data has more than 524288 bytes"):
        shaped(None, each, value=numbers(most + 1))


def numbers(count: int) -> bytes:
    return b"[" + b",".join([b"1"] * count) + b"]"


def test_many_masks_of_many_values_are_stopped_before_they_hold_up_the_others() -> None:
    masks = redact(*(f"$.data[*].name{n}" for n in range(MAX_MASKS)))
    began = time.thread_time()
    with pytest.raises(TransformError, match="mask_failed: masks and values meet more than 500000 times"):
        shaped(None, masks, value=b"[" + b",".join([b"{}"] * 150_000) + b"]")
    assert time.thread_time() - began < 30
    assert shaped(None, redact("$.data[*].name"), value=b"[" + b",".join([b"{}"] * 150_000) + b"]")

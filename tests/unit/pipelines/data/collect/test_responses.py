"""Statuses of responses."""

import msgspec
import pytest

from pipelines.data.collect.errors import RefusedError
from pipelines.data.collect.responses import leaves_unread, results_response
from shared.cloudevents.events import AcceptedEvent
from shared.cloudevents.refusal import Refusal
from shared.contracts.envelope import collected_item

ACCEPTED = AcceptedEvent(
    "a", collected_item({"id": "a", "source": "/s", "type": "t", "time": "now"}, minute=1), late=False
)
REFUSED = Refusal("e", "f", "m")


@pytest.mark.parametrize(
    ("results", "status"),
    [
        ([ACCEPTED], 202),
        ([ACCEPTED, ACCEPTED], 202),
        ([ACCEPTED, REFUSED], 207),
        ([REFUSED, ACCEPTED], 207),
        ([REFUSED], 400),
    ],
)
def test_a_2xx_never_hides_a_refused_event(results: list[AcceptedEvent | Refusal], status: int) -> None:
    response = results_response(results)
    assert response.status == status
    body = msgspec.json.decode(response.body)
    assert body["accepted"] == results.count(ACCEPTED)
    if status != 202:
        assert [item["status"] for item in body["items"]] == [202 if r is ACCEPTED else 400 for r in results]


@pytest.mark.parametrize(
    ("request_", "unread"),
    [
        ({b"content-length": b"100"}, False),
        ({b"content-length": b"100", b"expect": b"100-continue"}, True),
        ({b"transfer-encoding": b"chunked"}, True),
        ({b"content-length": b"99999999"}, True),
    ],
)
def test_only_a_short_declared_body_is_skipped(request_: dict[bytes, bytes], unread: bool) -> None:
    error = RefusedError(401, REFUSED)
    assert not leaves_unread(error, request_)
    error.body_unread = True
    assert leaves_unread(error, request_) is unread

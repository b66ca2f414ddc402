"""The answer table: where an event ends after each behaviour of its destination, and how often it was sent.

Each case uses a real socket. Afterwards an event is in one of three places: at the destination, in a
retry topic or in `dead_letter`; with one receipt each.
"""

from dataclasses import dataclass
from typing import Any, Final

import pytest

from shared.contracts import headers as h
from shared.contracts.topics import Topic
from tests.contract.answer_acts import (
    Act,
    answers,
    hangs,
    leads_to,
    manner,
    partly,
    proves_nothing,
    reads_nothing,
    reset,
    resets_in_the_request,
    says,
    speaks_no_tls,
    status_then_reset,
    takes_at_most,
)
from tests.contract.transmit_rig import AMPLE, Rig, receipts, records
from tests.harness.scripted_server import reply
from tests.unit.pipelines.data.transmit.transmit_events import flat_batch, row

TRIES: Final = 3
"""Tries of the rig's policy within one micro-batch."""

LARGE: Final = b'"' + b"x" * 400_000 + b'"'

DELIVERED: Final = "delivered"
LATER: Final = Topic.RETRY_IN_30S
LATER_STILL: Final = Topic.RETRY_IN_5M
LAST: Final = Topic.RETRY_IN_1H
DEAD: Final = Topic.DEAD_LETTER


@dataclass(frozen=True, kw_only=True)
class Case:
    """One row of the table, for one event of several that share a pipe."""

    act: Act

    end: str
    """DELIVERED or a topic."""

    seen: int
    """Number of requests with the event that reached the destination."""

    tries: int
    """Tries in its receipt."""

    reason: str = ""
    """Start of the reason."""

    wait: float | None = None
    """Seconds from the last try to the next permitted one."""

    status: int | None = None
    """Status in its receipt."""

    id: str = "e1"
    rows: int = 2
    """Events in the pipe, `e0` and so on."""

    value: bytes = b"{}"
    """Of each event."""


DATE: Final = "Fri, 31 Dec 2999 23:59:59 GMT"
AT_ONCE_THEN_LATER: Final[dict[str, Any]] = {"end": LATER, "seen": TRIES, "tries": TRIES, "wait": 30}
REFUSED: Final[dict[str, Any]] = {"end": DEAD, "seen": 1, "tries": 1}
TAKEN: Final[dict[str, Any]] = {"end": DELIVERED, "seen": 1, "tries": 1}

TABLE: Final[dict[str, Case]] = {
    "200": Case(act=says(200), status=200, **TAKEN),
    "201": Case(act=says(201), status=201, **TAKEN),
    "204": Case(act=says(204), status=204, **TAKEN),
    "301": Case(act=says(301, "Location: /on\r\n"), status=301, reason="redirect: ", **REFUSED),
    "400": Case(act=says(400), status=400, reason="refused: ", **REFUSED),
    "401": Case(act=says(401), status=401, reason="refused: ", **REFUSED),
    "404": Case(act=says(404), status=404, reason="refused: ", **REFUSED),
    "408": Case(act=says(408), status=408, reason="refused: ", **AT_ONCE_THEN_LATER),
    "413 until it fits": Case(act=takes_at_most(1), end=DELIVERED, seen=3, tries=1, status=200, rows=4),
    "413 for each event": Case(act=takes_at_most(0), end=DEAD, seen=3, tries=1, status=413, rows=4),
    "429": Case(act=says(429), end=LATER, seen=1, tries=1, wait=30, status=429),
    "429, 0 s": Case(act=says(429, "Retry-After: 0\r\n"), status=429, **AT_ONCE_THEN_LATER),
    "429, 60 s": Case(
        act=says(429, "Retry-After: 60\r\n"), end=LATER_STILL, seen=1, tries=1, wait=60, status=429
    ),
    "429, date": Case(
        act=says(429, f"Retry-After: {DATE}\r\n"), end=LAST, seen=1, tries=1, wait=3600, status=429
    ),
    "500": Case(act=says(500), status=500, reason="failed: ", **AT_ONCE_THEN_LATER),
    "500, then 200": Case(act=answers(reply(500), reply(200)), end=DELIVERED, seen=2, tries=2, status=200),
    "502": Case(act=says(502), status=502, reason="failed: ", **AT_ONCE_THEN_LATER),
    "503": Case(act=says(503), status=503, reason="failed: ", **AT_ONCE_THEN_LATER),
    "503, 10 s": Case(act=says(503, "Retry-After: 10\r\n"), end=LATER, seen=1, tries=1, wait=30, status=503),
    "503, 400 s": Case(
        act=says(503, "Retry-After: 400\r\n"), end=LAST, seen=1, tries=1, wait=400, status=503
    ),
    "503, a day": Case(
        act=says(503, "Retry-After: 86400\r\n"), end=LAST, seen=1, tries=1, wait=3600, status=503
    ),
    "connect refused": Case(
        act=leads_to("http://127.0.0.1:{closed}/"),
        end=LATER,
        seen=0,
        tries=TRIES,
        reason="connection_refused: ",
    ),
    "reset without an answer": Case(act=manner(reset), reason="unreachable: ", **AT_ONCE_THEN_LATER),
    "reset within the request": Case(
        act=resets_in_the_request, end=LATER, seen=0, tries=TRIES, reason="unreachable: ", value=LARGE
    ),
    "reset within the answer, 200": Case(act=manner(status_then_reset(200)), status=200, **TAKEN),
    "reset within the answer, 500": Case(
        act=manner(status_then_reset(500)), status=500, **AT_ONCE_THEN_LATER
    ),
    "no TLS": Case(
        act=speaks_no_tls,
        end=LATER,
        seen=0,
        tries=TRIES,
        reason="tls_failed: ClientConnectorSSLError: ",
    ),
    "TLS that proves nothing": Case(
        act=proves_nothing,
        end=LATER,
        seen=0,
        tries=TRIES,
        reason="certificate_refused: ClientConnectorCertificateError: ",
    ),
    "timeout before the request was written": Case(
        act=reads_nothing, end=LATER, seen=0, tries=TRIES, reason="timeout: ", rows=20, value=LARGE
    ),
    "timeout after the request was written": Case(act=hangs, reason="timeout: ", **AT_ONCE_THEN_LATER),
    "bad DNS": Case(
        act=leads_to("http://no-such-host.invalid/"),
        end=LATER,
        seen=0,
        tries=TRIES,
        reason="dns_failed: ClientConnectorDNSError: ",
    ),
    "partial failure, the good": Case(act=partly, id="e0", rows=3, status=200, **TAKEN),
    "partial failure, the failed": Case(act=partly, id="e1", rows=3, status=503, **AT_ONCE_THEN_LATER),
    "partial failure, the refused": Case(act=partly, id="e2", rows=3, status=404, **REFUSED),
}


@pytest.mark.parametrize("name", TABLE)
def test_answer(rig: Rig, name: str) -> None:
    case = TABLE[name]
    rig.pipe("p1", "/", **case.act(rig))
    batch = flat_batch([row(n, value=case.value) for n in range(case.rows)])
    rows = rig.deliver(batch, deadline=2 * TRIES * AMPLE)
    assert sorted(id_ for receipt in receipts(rows) for id_ in receipt.ids) == [f"e{n}" for n in order(case)]
    (receipt,) = [receipt for receipt in receipts(rows) if case.id in receipt.ids]
    moved = {(dict(r.headers)["ce_id"] or b"").decode(): r for r in records(rows)}
    record = moved.get(case.id)
    assert (record.topic if record else receipt.result) == case.end
    seen = sum(f'"id":"{case.id}"'.encode() in body for body in rig.server.bodies)
    assert (seen, receipt.tries, receipt.status) == (case.seen, case.tries, case.status)
    assert receipt.reason.startswith(case.reason)
    if record:
        assert record.value == case.value
        assert dict(record.headers)[h.REASON] == receipt.reason.encode()
    if record and case.wait:
        said = {name: int(text or b"") for name, text in record.headers if name in (h.NOT_BEFORE, h.LAST_TRY)}
        assert said[h.NOT_BEFORE] - said[h.LAST_TRY] == case.wait * 1000


def order(case: Case) -> list[int]:
    """Positions of the case's events when their ids are sorted."""
    return sorted(range(case.rows), key=str)

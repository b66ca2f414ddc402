"""Kafka record headers. CloudEvents attributes are `ce_*`; hifi's own start with `hifi_`."""

from typing import Final

from shared.contracts.limits import MAX_HEADERS_BYTES

Headers = list[tuple[str, bytes | None]]
"""As a consumer gives them, in order. hifi writes a name once; of names that others repeat, any may count."""

MAX_DIGITS: Final = 15
"""Most digits of a number in a header: as milliseconds, thirty thousand years."""

CE_PREFIX = "ce_"
CE_ID = "ce_id"
CE_SOURCE = "ce_source"
CE_TYPE = "ce_type"
CE_TIME = "ce_time"

CONTENT_TYPE = "content-type"
"""The `datacontenttype` attribute, as CloudEvents' Kafka binding maps it."""

TENANT = "hifi_tenant"
SOURCE = "hifi_source"
RECEIVED = "hifi_received"
"""Epoch milliseconds at which the request's last byte was in. Decimal text, as all numbers in headers."""

MINUTE = "hifi_minute"
"""Epoch minute in which every hop tallies the event; stamped once, by collect."""

PIPE = "hifi_pipe"
PIPES = "hifi_pipes"
"""On an `outbound` record of an event that several pipes take: on the copy for the first of them all names,
joined by PIPES_SEPARATOR; on the others the first's, so that a thousand pipes cost no million names."""

PIPES_SEPARATOR = ","

WATCHED = "hifi_watched"
"""On an `outbound` record of a pipe that watches fields: a JSON array of them with the values of the event.
Not on later records of the event."""

LETTER = "hifi_letter"
"""On an `outbound` record that was a dead letter: `partition/offset` of that letter. It stays on its later
records, so that another death of the same event is not counted as a new one."""

REPLAY = "hifi_replay"
"""On each record of an event that ingest read again after a rollback, from `events` on: which replay it is,
`replay_range.ReplayRange.name`."""

TRACEPARENT = "ce_traceparent"
"""W3C trace context, as CloudEvents' distributed tracing extension carries it."""

ATTEMPT = "hifi_attempt"
"""Global attempt, from 1; the local retries inside one attempt do not count. In `retry_in.*`: attempts made
so far, 0 where an open breaker, or no turn, kept the event from its first."""

NOT_BEFORE = "hifi_not_before"
"""Epoch milliseconds before which a waiting record, or one of `outbound_slow`, must not be sent again."""

REASON = "hifi_reason"
"""Why a record is in `dead_letter`, `quarantine` or `retry_in.*`: a word and a sentence."""

ORIGIN = "hifi_origin"
"""On a quarantined record: `topic/partition/offset` of the record it was."""

STATUS = "hifi_status"
"""HTTP status of the last try; empty where there was no answer."""

FIRST_TRY = "hifi_first_try"
LAST_TRY = "hifi_last_try"
"""Epoch milliseconds of the first and the last time the record was sent."""

DESTINATION = "hifi_destination"
"""On a record in `dead_letter` or `retry_in.*`: name of the destination of the last try, empty where the pipe
led to none."""

DELIVERED = "hifi_delivered"
"""On a receipt: the 16-byte delivery keys of the events that arrived, end to end."""

RECOVERED = "hifi_recovered"
"""On a receipt of the slow lane: `tenant/name` of a destination that is fast enough for the fast lane
again."""


OF_A_TRY = (REASON, STATUS, FIRST_TRY, LAST_TRY, NOT_BEFORE, DESTINATION)
"""Headers that transmit sets on a record that it could not deliver, anew at each attempt."""


def attribute_header(name: str) -> str:
    """The header that carries a CloudEvents attribute."""
    return CONTENT_TYPE if name == "datacontenttype" else CE_PREFIX + name


def header_attribute(header: str) -> str:
    """The CloudEvents attribute that a header of `attribute_header` carries."""
    return "datacontenttype" if header == CONTENT_TYPE else header.removeprefix(CE_PREFIX)


def quarantine_headers(headers: Headers, reason: str, origin: str) -> Headers:
    """The headers of a record in `quarantine`: its own, unless they are too large, with reason and origin."""
    kept = headers if headers_size(headers) <= MAX_HEADERS_BYTES else []
    own = [header for header in kept if header[0] not in (REASON, ORIGIN)]
    return [*own, (REASON, reason.encode()), (ORIGIN, origin.encode())]


def whole_number(value: bytes | None) -> int | None:
    """The whole number in a header; None if it does not hold one."""
    if value is None or not value.isdigit() or len(value) > MAX_DIGITS:
        return None
    return int(value)


def headers_size(headers: Headers) -> int:
    """Bytes of all names and values."""
    return sum(len(name.encode()) + len(value or b"") for name, value in headers)

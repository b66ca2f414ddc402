"""Kafka record headers. CloudEvents attributes are `ce_*`; hifi's own start with `hifi_`."""

from typing import Final

from shared.contracts.limits import MAX_HEADERS_BYTES

Headers = list[tuple[str, bytes | None]]
"""Headers in a consumer's order. hifi writes each name once; if others repeat one, any of them may count."""

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
"""Names of the pipes that take the event, on its `outbound` records if there are several. The copy for the
first pipe has all names, joined by PIPES_SEPARATOR; the others only the first's, as a thousand pipes would
otherwise cost a million names."""

PIPES_SEPARATOR = ","

WATCHED = "hifi_watched"
"""JSON array of the fields that the pipe watches, with the event's values, on `outbound` records; not on
later records of the event."""

LETTER = "hifi_letter"
"""`partition/offset` of the dead letter that an `outbound` record replays. It stays on later records, so that
another death of the same event is not counted as a new one."""

REPLAY = "hifi_replay"
"""Name of the replay (`replay_range.ReplayRange.name`), on each record, from `events` on, of an event that
ingest read again after a rollback."""

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
"""`topic/partition/offset` of the record that was quarantined."""

STATUS = "hifi_status"
"""HTTP status of the last try; empty where there was no answer."""

FIRST_TRY = "hifi_first_try"
LAST_TRY = "hifi_last_try"
"""Epoch milliseconds of the first and the last time the record was sent."""

DESTINATION = "hifi_destination"
"""Name of the destination of the last try, on records in `dead_letter` and `retry_in.*`; empty where the pipe
led to none."""

DELIVERED = "hifi_delivered"
"""16-byte delivery keys of the events that arrived, concatenated, on a receipt."""

RECOVERED = "hifi_recovered"
"""`tenant/name` of a destination that is fast enough for the fast lane again, on slow-lane receipts."""


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

"""Names of every Prometheus metric, typed, so that alarms, the autoscaler and the code agree on them.

A counter's name is given without the `_total` that Prometheus' exposition appends.
"""

from enum import StrEnum


class CollectMetric(StrEnum):
    """What collect exposes at /metrics."""

    REQUESTS = "hifi_collect_requests"
    """Counter by `status`: requests to /v1/events that were answered."""

    EVENTS = "hifi_collect_events"
    """Counter: events acknowledged with a 2xx."""

    REFUSED = "hifi_collect_refused_events"
    """Counter by `field`: events refused one by one, and the part of them that was wrong."""

    LATE = "hifi_collect_late_events"
    """Counter: acknowledged events whose time lay outside the window, tallied at the receive time."""

    BODY_BYTES = "hifi_collect_body_bytes"
    """Counter: bytes of request bodies after decompression."""

    ABANDONED = "hifi_collect_abandoned_requests"
    """Counter: requests whose client went away before its last byte."""

    IN_FLIGHT = "hifi_collect_in_flight_requests"
    """Gauge: requests being handled."""

    REQUEST_SECONDS = "hifi_collect_request_seconds"
    """Histogram: from the request's head to its reply, for requests whose events were judged."""

    ACK_SECONDS = "hifi_collect_ack_seconds"
    """Histogram: how long Kafka took to acknowledge a request's records."""

    READY = "hifi_collect_ready"
    """Gauge: 1 when /readyz answers 200."""


class RetryMetric(StrEnum):
    """What retry exposes at /metrics."""

    RELEASED = "hifi_retry_released_records"
    """Counter by `topic`: records that waited there and are on their way to transmit again."""

    QUARANTINED = "hifi_retry_quarantined_records"
    """Counter: waiting records that could not be read."""

    LATE_SECONDS = "hifi_retry_late_seconds"
    """Histogram by `topic`: from the moment a record was due until it was written."""

    READY = "hifi_retry_ready"
    """Gauge: 1 when /readyz answers 200."""

"""Writes records and waits until the brokers acknowledged each of them."""

import threading
import time
from collections.abc import Sequence
from typing import Final

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from pipelines.data.retry.decide import OutputRecord
from shared.kafka.producer import logging_client, producer_config
from shared.runtime.logging import get_logger

_log = get_logger(__name__)
_STEP_SECONDS: Final = 0.2


class RecordWriter:
    """A producer for one thread."""

    def __init__(self, bootstrap: str, client_id: str, stopping: threading.Event, grace: float) -> None:
        """Once `stopping` is set, no write is awaited for longer than `grace` seconds."""
        # Only errors are reported: a callback for each record would cost more than sending it.
        only_errors = {"delivery.report.only.error": True, "on_delivery": self._failed}
        self._client: Producer = logging_client(producer_config(bootstrap, client_id) | only_errors)
        self._stopping = stopping
        self._grace = grace
        self._errors: list[KafkaError] = []
        self._since: float | None = None

    @property
    def unacknowledged_seconds(self) -> float:
        """Seconds since the first write that is not acknowledged yet; 0 if all are."""
        since = self._since
        return 0.0 if since is None else time.monotonic() - since

    def write(self, outputs: Sequence[OutputRecord]) -> bool:
        """Write records; False if some were not acknowledged. Those may have been written all the same.

        Raises:
            KafkaException: the client failed for good; a new process can go on.
        """
        if self._since is None:
            self._since = time.monotonic()
        self._errors.clear()
        written = all(self._produce(output) for output in outputs) and self._flushed()
        if written:
            self._since = None
        elif self._errors:
            extra = {"records": len(outputs), "error": self._errors[0].str()}
            _log.warning("records not written, trying again", extra=extra)
        return written

    def _produce(self, output: OutputRecord) -> bool:
        """Queue a record, waiting for room; False if the client refuses it or the grace period is over."""
        stop_by: float | None = None
        headers: list[tuple[str, str | bytes | None]] = [*output.headers]
        while True:
            try:
                self._client.produce(output.topic, output.value, output.key, headers=headers)
            except BufferError:
                self._client.poll(_STEP_SECONDS)
                stop_by = self._stop_by(stop_by)
                if _over(stop_by):
                    return False
            except KafkaException as error:
                if error.args[0].code() == KafkaError._FATAL:
                    raise
                self._errors.append(error.args[0])
                return False
            else:
                return True

    def _flushed(self) -> bool:
        stop_by: float | None = None
        while self._client.flush(_STEP_SECONDS):
            stop_by = self._stop_by(stop_by)
            if _over(stop_by):
                self._client.purge()
                return False
        return not self._errors

    def _stop_by(self, known: float | None) -> float | None:
        if known is None and self._stopping.is_set():
            return time.monotonic() + self._grace
        return known

    def _failed(self, error: KafkaError | None, _message: Message) -> None:
        if error is not None:
            self._errors.append(error)


def _over(moment: float | None) -> bool:
    return moment is not None and time.monotonic() > moment

"""Writes records and waits until the brokers acknowledged each of them."""

import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from pipelines.data.retry.decide import OutputRecord
from shared.kafka.producer import logging_client, producer_config
from shared.runtime.logging import get_logger

_log = get_logger(__name__)
_STEP_SECONDS: Final = 0.2
_Failed = Callable[[KafkaError | None, Message | None], None]


class RecordWriter:
    """A producer for one thread."""

    def __init__(self, bootstrap: str, client_id: str, stopping: threading.Event, grace: float) -> None:
        """Once `stopping` is set, no write is awaited for longer than `grace` seconds."""
        # Only errors are reported: a callback for each record would cost more than sending it.
        only_errors = {"delivery.report.only.error": True}
        self._client: Producer = logging_client(producer_config(bootstrap, client_id) | only_errors)
        self._stopping = stopping
        self._grace = grace
        self._errors: list[KafkaError] = []
        self._since: float | None = None

    @property
    def unacknowledged_seconds(self) -> float:
        """Seconds since the first write that is not acknowledged yet; 0 if all are, or none is left."""
        since = self._since
        return 0.0 if since is None else time.monotonic() - since

    def write(self, runs: Sequence[Sequence[OutputRecord]]) -> list[int]:
        """Write runs of records; how many of each were acknowledged, counted up to the first that was not.

        Records behind that one may have been written all the same, and so may all if the grace period is
        over. Without runs nothing is left to write, so nothing is unacknowledged any more.

        Raises:
            KafkaException: the client failed for good; a new process can go on.
        """
        if self._since is None:
            self._since = time.monotonic()
        self._errors.clear()
        counts = [len(run) for run in runs]
        in_time = all(self._queue(run, counts, number) for number, run in enumerate(runs)) and self._flushed()
        if not in_time:
            counts = [0] * len(runs)
        left = sum(map(len, runs)) - sum(counts)
        if not left:
            self._since = None
        elif self._errors:
            extra = {"records": left, "error": self._errors[0].str()}
            _log.warning("records not written, trying again", extra=extra)
        return counts

    def _queue(self, run: Sequence[OutputRecord], counts: list[int], number: int) -> bool:
        """Queue a run up to the first record that cannot be written; False if the grace period is over.

        What is not acknowledged lowers the run's count, now or while the client is polled.
        """
        for index, output in enumerate(run):
            if counts[number] < len(run):
                break
            if not self._produce(output, partial(self._failed, counts, number, index)):
                return False
        return True

    def _produce(self, output: OutputRecord, failed: _Failed) -> bool:
        """Queue a record, waiting for room; False if the grace period is over."""
        stop_by: float | None = None
        headers: list[tuple[str, str | bytes | None]] = [*output.headers]
        while True:
            try:
                self._client.produce(
                    output.topic, output.value, output.key, headers=headers, on_delivery=failed
                )
            except BufferError:
                self._client.poll(_STEP_SECONDS)
                stop_by = self._stop_by(stop_by)
                if _over(stop_by):
                    return False
            except KafkaException as error:
                if error.args[0].code() == KafkaError._FATAL:
                    raise
                failed(error.args[0], None)
                return True
            else:
                return True

    def _flushed(self) -> bool:
        stop_by: float | None = None
        while self._client.flush(_STEP_SECONDS):
            stop_by = self._stop_by(stop_by)
            if _over(stop_by):
                self._client.purge()
                return False
        return True

    def _stop_by(self, known: float | None) -> float | None:
        if known is None and self._stopping.is_set():
            return time.monotonic() + self._grace
        return known

    def _failed(
        self, counts: list[int], number: int, index: int, error: KafkaError | None, _message: Message | None
    ) -> None:
        if error is not None:
            self._errors.append(error)
            counts[number] = min(counts[number], index)


def _over(moment: float | None) -> bool:
    return moment is not None and time.monotonic() > moment

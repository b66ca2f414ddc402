"""Sends notifications in the background: a queue per receiver, in order, retried until accepted."""

import asyncio
import random
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from pipelines.control.observe.alarms.outbox import MOST_WAITING, Notification, channel_of, supersedes
from pipelines.control.observe.alarms.receiver import NotAcceptedError, Receiver, ReceiverGoneError
from shared.runtime.clock import Clock
from shared.runtime.logging import get_logger

_log = get_logger(__name__)

FIRST_PAUSE: Final = 1.0
LONGEST_PAUSE: Final = 60.0
"""Seconds between two tries: exponential backoff, of which jitter takes off up to half."""

_STOP_SECONDS: Final = 2.0


@dataclass(slots=True)
class _Line:
    """The queue of one receiver."""

    notifications: deque[Notification] = field(default_factory=deque)
    task: "asyncio.Task[None] | None" = None


class Notifier:
    """A thread with an event loop. A receiver that does not answer delays no other receiver."""

    def __init__(
        self,
        receivers: Mapping[str, Receiver],
        done: Callable[[str], None],
        clock: Clock,
        give_up_ms: int,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """`done` is called on the notifier's thread with the id of each notification accepted or given up."""
        self._receivers = receivers
        self._done = done
        self._clock = clock
        self._give_up_ms = give_up_ms
        self._chance = chance
        self._lines: dict[str, _Line] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="alarm-sender", daemon=True)
        self._thread.start()

    def __len__(self) -> int:
        """How many receivers have notifications that wait or are being sent."""
        return len(self._lines)

    def post(self, notifications: Iterable[Notification]) -> None:
        """Queue notifications; returns at once."""
        self._loop.call_soon_threadsafe(self._queue, list(notifications))

    def close(self) -> None:
        """Stop; notifications that were not accepted stay in the store."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _run(self) -> None:
        try:
            self._loop.run_forever()
        finally:
            self._loop.run_until_complete(self._end())
            self._loop.close()

    async def _end(self) -> None:
        tasks = [line.task for line in self._lines.values() if line.task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=_STOP_SECONDS)
        for receiver in self._receivers.values():
            await receiver.close()

    def _queue(self, notifications: list[Notification]) -> None:
        for notification in notifications:
            line = self._lines.setdefault(notification.receiver, _Line())
            for old in [waiting for waiting in line.notifications if supersedes(notification, waiting)]:
                line.notifications.remove(old)
                self._done(old.id)
            line.notifications.append(notification)
            while len(line.notifications) > MOST_WAITING:
                self._given_up(line.notifications.popleft(), "the receiver's queue is full")
            if line.task is None or line.task.done():
                line.task = self._loop.create_task(self._drain(notification.receiver, line))

    async def _drain(self, name: str, line: _Line) -> None:
        pause = FIRST_PAUSE
        while line.notifications:
            notification = line.notifications[0]
            try:
                await self._send(name, notification)
            except NotAcceptedError as error:
                if self._clock() - notification.made_ms > self._give_up_ms:
                    self._given_up(self._out(line, notification), str(error))
                    continue
                _log.warning(
                    "alarm notification not accepted, retrying",
                    extra=_ids(notification) | {"error": str(error)},
                )
                await asyncio.sleep(pause * (1 - self._chance() / 2))
                pause = min(pause * 2, LONGEST_PAUSE)
            except ReceiverGoneError as error:
                self._given_up(self._out(line, notification), str(error))
            else:
                self._done(self._out(line, notification).id)
                pause = FIRST_PAUSE
        del self._lines[name]  # contacts come and go; the next notification begins a queue anew

    async def _send(self, name: str, notification: Notification) -> None:
        """Send one notification; a defect counts as a failed try, so that it does not end the queue."""
        receiver = self._receivers.get(channel_of(name))
        if receiver is None:
            raise ReceiverGoneError(f"no receiver is configured for {channel_of(name)}: see HIFI_ALARM_*")
        try:
            await receiver.send(notification)
        except (NotAcceptedError, ReceiverGoneError):
            raise
        except Exception as error:
            _log.exception("alarm notification not sent: unexpected error", extra=_ids(notification))
            raise NotAcceptedError(f"internal: {type(error).__name__}") from error

    @staticmethod
    def _out(line: _Line, notification: Notification) -> Notification:
        """Remove a notification from its queue, unless a newer one has replaced it already."""
        if notification in line.notifications:
            line.notifications.remove(notification)
        return notification

    def _given_up(self, notification: Notification, why: str) -> None:
        _log.error("alarm notification given up", extra=_ids(notification) | {"error": why})
        self._done(notification.id)


def _ids(notification: Notification) -> dict[str, str]:
    return {
        "notification": notification.id,
        "receiver": notification.receiver,
        "alarm": notification.transition.alarm.id,
    }

"""Sends letters in the background: each receiver by itself, in order, again and again until it took them."""

import asyncio
import random
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from pipelines.control.observe.alarms.outbox import MOST_WAITING, Notification, contact_of, supersedes
from pipelines.control.observe.alarms.receivers import NotAcceptedError, Receiver, ReceiverGoneError
from shared.runtime.clock import Clock
from shared.runtime.logging import get_logger

_log = get_logger(__name__)

FIRST_PAUSE: Final = 1.0
LONGEST_PAUSE: Final = 60.0
"""Seconds between two tries; each pause is twice the former, and up to a half shorter by chance."""

_STOP_SECONDS: Final = 2.0


@dataclass(slots=True)
class _Line:
    """What waits for one receiver."""

    notifications: deque[Notification] = field(default_factory=deque)
    task: "asyncio.Task[None] | None" = None


class Notifier:
    """A thread with an event loop. A receiver that does not answer keeps none but itself waiting."""

    def __init__(
        self,
        receivers: Mapping[str, Receiver],
        done: Callable[[str], None],
        clock: Clock,
        give_up_ms: int,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """`done` is told, on this thread, the id of each letter that was taken or given up."""
        self._receivers = receivers
        self._done = done
        self._clock = clock
        self._give_up_ms = give_up_ms
        self._chance = chance
        self._lines: dict[str, _Line] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="alarm-sender", daemon=True)
        self._thread.start()

    def post(self, notifications: Iterable[Notification]) -> None:
        """Send them, soon; returns at once."""
        self._loop.call_soon_threadsafe(self._queue, list(notifications))

    def close(self) -> None:
        """Stop; what was not taken stays stored."""
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
                self._given_up(line.notifications.popleft(), "too many wait for it")
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
                    "alarm not taken, trying again", extra=_ids(notification) | {"error": str(error)}
                )
                await asyncio.sleep(pause * (1 - self._chance() / 2))
                pause = min(pause * 2, LONGEST_PAUSE)
            except ReceiverGoneError as error:
                self._given_up(self._out(line, notification), str(error))
            else:
                self._done(self._out(line, notification).id)
                pause = FIRST_PAUSE

    async def _send(self, name: str, notification: Notification) -> None:
        """A fault of our own must not end the line."""
        receiver = self._receivers.get("" if contact_of(name) else name)
        if receiver is None:
            raise ReceiverGoneError("it is no longer set")
        try:
            await receiver.send(notification)
        except (NotAcceptedError, ReceiverGoneError):
            raise
        except Exception as error:
            _log.exception("alarm not sent", extra=_ids(notification))
            raise NotAcceptedError(f"internal: {type(error).__name__}") from error

    @staticmethod
    def _out(line: _Line, notification: Notification) -> Notification:
        """Take it out of the line, if something newer has not done so."""
        if notification in line.notifications:
            line.notifications.remove(notification)
        return notification

    def _given_up(self, notification: Notification, why: str) -> None:
        _log.error("alarm given up", extra=_ids(notification) | {"error": why})
        self._done(notification.id)


def _ids(notification: Notification) -> dict[str, str]:
    return {
        "letter": notification.id,
        "receiver": notification.receiver,
        "alarm": notification.transition.alarm.id,
    }

"""Sends letters in the background: each receiver by itself, in order, again and again until it took them."""

import asyncio
import random
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from pipelines.control.observe.alarms.outbox import MOST_WAITING, Notification, contact_of, supersedes
from pipelines.control.observe.alarms.receivers import GoneError, NotTakenError, Receiver
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

    letters: deque[Notification] = field(default_factory=deque)
    task: "asyncio.Task[None] | None" = None


class Notifier:
    """A thread with an event loop. A receiver that does not answer keeps none but itself waiting."""

    def __init__(
        self,
        sinks: Mapping[str, Receiver],
        done: Callable[[str], None],
        clock: Clock,
        give_up_ms: int,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """`done` is told, on this thread, the id of each letter that was taken or given up."""
        self._sinks = sinks
        self._done = done
        self._clock = clock
        self._give_up_ms = give_up_ms
        self._chance = chance
        self._lines: dict[str, _Line] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="alarm-sender", daemon=True)
        self._thread.start()

    def post(self, letters: Iterable[Notification]) -> None:
        """Send them, soon; returns at once."""
        self._loop.call_soon_threadsafe(self._queue, list(letters))

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
        for sink in self._sinks.values():
            await sink.close()

    def _queue(self, letters: list[Notification]) -> None:
        for letter in letters:
            line = self._lines.setdefault(letter.receiver, _Line())
            for old in [waiting for waiting in line.letters if supersedes(letter, waiting)]:
                line.letters.remove(old)
                self._done(old.id)
            line.letters.append(letter)
            while len(line.letters) > MOST_WAITING:
                self._given_up(line.letters.popleft(), "too many wait for it")
            if line.task is None or line.task.done():
                line.task = self._loop.create_task(self._drain(letter.receiver, line))

    async def _drain(self, receiver: str, line: _Line) -> None:
        pause = FIRST_PAUSE
        while line.letters:
            letter = line.letters[0]
            try:
                await self._take(receiver, letter)
            except NotTakenError as error:
                if self._clock() - letter.made_ms > self._give_up_ms:
                    self._given_up(self._out(line, letter), str(error))
                    continue
                _log.warning("alarm not taken, trying again", extra=_ids(letter) | {"error": str(error)})
                await asyncio.sleep(pause * (1 - self._chance() / 2))
                pause = min(pause * 2, LONGEST_PAUSE)
            except GoneError as error:
                self._given_up(self._out(line, letter), str(error))
            else:
                self._done(self._out(line, letter).id)
                pause = FIRST_PAUSE

    async def _take(self, receiver: str, letter: Notification) -> None:
        """A fault of our own must not end the line."""
        sink = self._sinks.get("" if contact_of(receiver) else receiver)
        if sink is None:
            raise GoneError("it is no longer set")
        try:
            await sink.take(letter)
        except (NotTakenError, GoneError):
            raise
        except Exception as error:
            _log.exception("alarm not sent", extra=_ids(letter))
            raise NotTakenError(f"internal: {type(error).__name__}") from error

    @staticmethod
    def _out(line: _Line, letter: Notification) -> Notification:
        """Take it out of the line, if something newer has not done so."""
        if letter in line.letters:
            line.letters.remove(letter)
        return letter

    def _given_up(self, letter: Notification, why: str) -> None:
        _log.error("alarm given up", extra=_ids(letter) | {"error": why})
        self._done(letter.id)


def _ids(letter: Notification) -> dict[str, str]:
    return {"letter": letter.id, "receiver": letter.receiver, "alarm": letter.notice.alarm.id}

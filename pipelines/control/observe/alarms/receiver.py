"""The interface of alarm receivers, and code that several of them share."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from pipelines.control.observe.alarms.outbox import Notification, contact_of
from shared.contracts.documents import Catalogue, Contact


class NotAcceptedError(Exception):
    """A receiver did not accept a notification. The text gives the cause but quotes no response."""


class ReceiverGoneError(Exception):
    """The receiver no longer exists."""


class Receiver(Protocol):
    """Sends notifications to receivers of one kind."""

    async def send(self, notification: Notification) -> None:
        """Try once.

        Raises:
            NotAcceptedError: if a retry may help.
            ReceiverGoneError: if the receiver no longer exists.
        """
        ...

    async def close(self) -> None:
        """Release connections."""
        ...


async def on_thread(work: Callable[[], None], ended: Callable[[], None] = lambda: None) -> None:
    """Run blocking work on a daemon thread; an executor's thread would delay the end of the process.

    Args:
        work: what it does.
        ended: called on the loop once it is done, even if the caller has stopped waiting for it.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()

    def finish(error: Exception | None) -> None:
        ended()
        if not done.done():
            done.set_result(None) if error is None else done.set_exception(error)

    def run() -> None:
        error = None
        try:
            work()
        except Exception as caught:  # raised again by the awaiting caller
            error = caught
        with suppress(RuntimeError):  # the loop has been closed meanwhile
            loop.call_soon_threadsafe(finish, error)

    try:
        threading.Thread(target=run, name="alarm-receiver", daemon=True).start()
    except RuntimeError as error:  # the system has no more threads
        finish(error)
    await done


def contact_now(catalogue: Catalogue | None, notification: Notification) -> Contact:
    """The contact of a notification, as it is now.

    Args:
        catalogue: the published documents; None while they are not loaded.
        notification: of an alarm of the contact's tenant.

    Raises:
        NotAcceptedError: while the documents are not loaded: the contact may be among them.
        ReceiverGoneError: if the alarm's tenant has none of that name.
    """
    if catalogue is None:
        raise NotAcceptedError("the published documents are not loaded yet")
    whose = notification.transition.alarm.tenant, contact_of(notification.receiver)
    contact = catalogue.contacts.get(whose)
    if contact is None:
        raise ReceiverGoneError("the contact was deleted")
    return contact

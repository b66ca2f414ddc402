"""Notifications to contacts that come and go."""

import threading
from collections.abc import Mapping

from pipelines.control.observe.alarms.inputs import TransitionKind
from pipelines.control.observe.alarms.lifecycle import Transition
from pipelines.control.observe.alarms.notifier import Notifier
from pipelines.control.observe.alarms.outbox import CONTACT, Notification
from pipelines.control.observe.alarms.receiver import Receiver, ReceiverGoneError
from shared.contracts.alarms import Alarm, AlarmKind, Audience
from tests.harness.waiting import eventually
from tests.unit.pipelines.control.observe.alarm_inputs import NOW

CONTACTS = 500


class Taker:
    """Accepts every second contact's notification; the other contacts are deleted."""

    async def send(self, notification: Notification) -> None:
        if int(notification.id) % 2:
            raise ReceiverGoneError("deleted")

    async def close(self) -> None:
        pass


def notification(number: int, contact: str) -> Notification:
    alarm = Alarm(
        id=str(number),
        kind=AlarmKind.CUSTOMER,
        audience=Audience.CUSTOMER,
        tenant="acme",
        subject=contact,
        text="",
        opened_ms=NOW,
        updated_ms=NOW,
    )
    transition = Transition(change=TransitionKind.OPENED, alarm=alarm)
    receiver = f"{CONTACT}/acme/{contact}"
    return Notification(id=str(number), receiver=receiver, made_ms=NOW, transition=transition)


def test_a_contact_has_a_queue_only_while_a_notification_waits_for_it() -> None:
    taken, all_taken = list[str](), threading.Event()

    def done(notification_id: str) -> None:
        taken.append(notification_id)
        if len(taken) == CONTACTS + 1:
            all_taken.set()

    known: Mapping[str, Receiver] = {CONTACT: Taker()}
    notifier = Notifier(known, done, lambda: NOW, 1_000)
    notifier.post(notification(each, f"run-{each}") for each in range(CONTACTS))
    notifier.post([notification(CONTACTS, "run-0")])  # once more, after or before its queue is gone
    assert all_taken.wait(60)
    eventually(lambda: len(notifier) == 0)
    notifier.close()
    assert sorted(map(int, taken)) == [*range(CONTACTS + 1)]

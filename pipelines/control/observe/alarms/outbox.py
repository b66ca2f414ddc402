"""Which receivers get a notification of a transition, and its content. Pure."""

import hashlib
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec
from msgspec import Struct

from pipelines.control.observe.alarms.inputs import TransitionKind
from pipelines.control.observe.alarms.lifecycle import Transition
from shared.contracts.alarms import Alarm, Audience
from shared.contracts.documents import Contact
from shared.contracts.scorecard import ALL_TENANTS

SNS: Final = "sns"
WEBHOOK: Final = "webhook"
CONTACT: Final = "contact"
MAIL: Final = "mail"

MOST_WAITING: Final = 10_000
"""Longest queue of one receiver; beyond it the oldest notifications are given up."""

_SUBJECT_CHARACTERS: Final = 100
"""Longest subject that SNS accepts; it must be ASCII."""


class Notification(Struct, kw_only=True, frozen=True):
    """A transition for one receiver."""

    id: str
    """The same in every try. Sorts by time."""

    receiver: str
    """SNS, WEBHOOK, `contact/<tenant>/<name>` for a contact's webhook, `mail/<tenant>/<name>` for its e-mail
    address."""

    made_ms: int
    transition: Transition = msgspec.field(name="notice")

    def encode(self) -> bytes:
        """Serialise for the store."""
        return msgspec.msgpack.encode(self)

    @classmethod
    def decode(cls, value: bytes) -> "Notification":
        """Deserialise what `encode` gave.

        Raises:
            msgspec.MsgspecError: if the bytes are not a notification.
        """
        return msgspec.msgpack.decode(value, type=cls)


class _Message(Struct, kw_only=True, frozen=True):
    """The JSON that a receiver gets."""

    type: str
    timestamp_ms: int
    data: Alarm


def notifications(
    transitions: Iterable[Transition], operators: Iterable[str], contacts: Iterable[Contact], now_ms: int
) -> list[Notification]:
    """A notification for each receiver of each transition; customers without a contact get none."""
    operators, contacts = list(operators), list(contacts)
    return [
        _notification(transition, receiver, now_ms)
        for transition in transitions
        for receiver in _receivers(transition.alarm, operators, contacts)
    ]


def channel_of(receiver: str) -> str:
    """Which kind of receiver it is: SNS, WEBHOOK, CONTACT or MAIL."""
    return receiver.partition("/")[0]


def contact_of(receiver: str) -> str:
    """The name of the customer's contact behind a receiver; empty for an operator's receiver.

    Its tenant is the alarm's. Notifications that an older version stored have only the name there.
    """
    return receiver.partition("/")[2].rpartition("/")[2]


def _receivers(alarm: Alarm, operators: list[str], contacts: list[Contact]) -> Iterator[str]:
    if alarm.audience == Audience.OPERATOR:
        yield from operators
    elif alarm.tenant != ALL_TENANTS:
        for contact in contacts:
            if contact.tenant == alarm.tenant:
                yield from (f"{channel}/{contact.tenant}/{contact.name}" for channel in _channels(contact))


def _channels(contact: Contact) -> Iterator[str]:
    if contact.webhook is not None:
        yield CONTACT
    if contact.email is not None:
        yield MAIL


def _notification(transition: Transition, receiver: str, now_ms: int) -> Notification:
    text = "\0".join((transition.alarm.id, transition.change, receiver, str(now_ms)))
    digest = hashlib.sha256(text.encode()).hexdigest()[:24]
    return Notification(
        id=f"{now_ms:013d}-{digest}", receiver=receiver, made_ms=now_ms, transition=transition
    )


def body(transition: Transition) -> bytes:
    """The message as JSON: type, time and the alarm."""
    message = _Message(
        type=f"hifi.alarm.{transition.change}",
        timestamp_ms=transition.alarm.updated_ms,
        data=transition.alarm,
    )
    return msgspec.json.encode(message)


def subject(transition: Transition) -> str:
    """A short line for the subject of a mail: printable ASCII."""
    alarm = transition.alarm
    whose = "" if alarm.tenant == ALL_TENANTS else f" ({alarm.tenant})"
    text = f"hifi {transition.change}: {alarm.kind} {alarm.subject}{whose}"[:_SUBJECT_CHARACTERS]
    return "".join(each if each.isascii() and each.isprintable() else "?" for each in text)


def supersedes(new: Notification, waiting: Notification) -> bool:
    """Whether a waiting update is obsolete because the new notification updates the same alarm."""
    return (
        new.receiver == waiting.receiver
        and new.transition.alarm.id == waiting.transition.alarm.id
        and new.transition.change == waiting.transition.change == TransitionKind.UPDATED
    )

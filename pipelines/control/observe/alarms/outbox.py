"""Who is told what, in which words. Pure."""

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
_CONTACT: Final = "contact/"

MOST_WAITING: Final = 10_000
"""Notices that wait for one receiver; of more the oldest are given up."""

_SUBJECT_CHARACTERS: Final = 100
"""Of an SNS subject, which is ASCII; the service's own limit."""


class Notification(Struct, kw_only=True, frozen=True):
    """A notice to one receiver."""

    id: str
    """The same when it is sent again. Sorts by time."""

    receiver: str
    """SNS, WEBHOOK, or `contact/<name>`."""

    made_ms: int
    transition: Transition = msgspec.field(name="notice")

    def encode(self) -> bytes:
        """As bytes."""
        return msgspec.msgpack.encode(self)

    @classmethod
    def decode(cls, value: bytes) -> "Notification":
        """Again what it was.

        Raises:
            msgspec.MsgspecError: if the bytes are none.
        """
        return msgspec.msgpack.decode(value, type=cls)


class _Message(Struct, kw_only=True, frozen=True):
    """What a receiver reads."""

    type: str
    timestamp_ms: int
    data: Alarm


def notifications(
    transitions: Iterable[Transition], operators: Iterable[str], contacts: Iterable[Contact], now_ms: int
) -> list[Notification]:
    """A letter for each receiver of each notice; a customer without a contact is told nothing."""
    operators, contacts = list(operators), list(contacts)
    return [
        _notification(transition, receiver, now_ms)
        for transition in transitions
        for receiver in _receivers(transition.alarm, operators, contacts)
    ]


def contact_of(receiver: str) -> str | None:
    """The name of the contact that a receiver is; None for an operator's."""
    name = receiver.removeprefix(_CONTACT)
    return None if name == receiver else name


def _receivers(alarm: Alarm, operators: list[str], contacts: list[Contact]) -> Iterator[str]:
    if alarm.audience == Audience.OPERATOR:
        yield from operators
    elif alarm.tenant != ALL_TENANTS:
        yield from (_CONTACT + contact.name for contact in contacts if contact.tenant == alarm.tenant)


def _notification(transition: Transition, receiver: str, now_ms: int) -> Notification:
    text = "\0".join((transition.alarm.id, transition.change, receiver, str(now_ms)))
    digest = hashlib.sha256(text.encode()).hexdigest()[:24]
    return Notification(
        id=f"{now_ms:013d}-{digest}", receiver=receiver, made_ms=now_ms, transition=transition
    )


def body(transition: Transition) -> bytes:
    """The JSON that receivers get: type, time and the alarm."""
    message = _Message(
        type=f"hifi.alarm.{transition.change}",
        timestamp_ms=transition.alarm.updated_ms,
        data=transition.alarm,
    )
    return msgspec.json.encode(message)


def subject(transition: Transition) -> str:
    """One short line, for a mail's subject."""
    alarm = transition.alarm
    whose = "" if alarm.tenant == ALL_TENANTS else f" ({alarm.tenant})"
    text = f"hifi {transition.change}: {alarm.kind} {alarm.subject}{whose}"
    return text.encode("ascii", "replace").decode()[:_SUBJECT_CHARACTERS]


def supersedes(new: Notification, waiting: Notification) -> bool:
    """Whether a letter that was not sent yet says nothing that the new one does not."""
    return (
        new.receiver == waiting.receiver
        and new.transition.alarm.id == waiting.transition.alarm.id
        and new.transition.change == waiting.transition.change == TransitionKind.UPDATED
    )

"""A notice to a customer waits while the published documents, and with them the contacts, are not loaded."""

import asyncio
from collections.abc import Callable
from typing import cast

import pytest

from pipelines.control.observe.alarms import service
from pipelines.control.observe.alarms.inputs import TransitionKind
from pipelines.control.observe.alarms.lifecycle import Transition
from pipelines.control.observe.alarms.outbox import CONTACT, MAIL, Notification
from pipelines.control.observe.alarms.receiver import NotAcceptedError, Receiver, ReceiverGoneError
from pipelines.control.observe.alarms.receivers import receivers
from pipelines.control.observe.alarms.service import Alarms
from pipelines.control.observe.dynamodb import Store
from shared.contracts.alarms import Alarm, AlarmKind, Audience
from shared.contracts.documents import Catalogue
from shared.contracts.secrets import Secrets
from shared.runtime.secrets import SecretTable
from tests.unit.pipelines.control.observe.alarm_inputs import NOW, settings

ALARM = Alarm(
    id="1",
    kind=AlarmKind.CUSTOMER,
    audience=Audience.CUSTOMER,
    tenant="shop",
    subject="hook 401",
    text="is refused",
    opened_ms=NOW,
    updated_ms=NOW,
)
KNOWN = settings(alarm_mail_server="mail.example.com", alarm_mail_from="hifi@example.com")


class NoSecrets(Secrets):
    def get(self, reference: str) -> str:
        raise AssertionError(reference)


def send(channel: str, catalogue: Catalogue | None) -> None:
    notice = Notification(
        id="1",
        receiver=f"{channel}/shop/ops",
        made_ms=NOW,
        transition=Transition(change=TransitionKind.OPENED, alarm=ALARM),
    )
    receiver = receivers(KNOWN, lambda: catalogue, NoSecrets(), lambda: NOW)[channel]
    asyncio.run(receiver.send(notice))


@pytest.mark.parametrize("channel", [CONTACT, MAIL])
def test_a_contact_is_gone_only_if_the_loaded_documents_lack_it(channel: str) -> None:
    with pytest.raises(NotAcceptedError, match="not loaded yet"):
        send(channel, None)
    with pytest.raises(ReceiverGoneError):
        send(channel, Catalogue())


def test_receivers_are_told_when_the_documents_are_not_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Catalogue | None] = []

    def known(
        _settings: object, catalogue: Callable[[], Catalogue | None], *_: object
    ) -> dict[str, Receiver]:
        given.append(catalogue())
        return {}

    monkeypatch.setattr(service, "receivers", known)
    Alarms(KNOWN, cast(Store, None), lambda: None, cast(SecretTable, NoSecrets()), lambda: NOW).close()
    assert given == [None]

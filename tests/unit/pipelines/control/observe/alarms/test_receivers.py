"""Notices to customers wait for the published documents; the mail server gets few at a time."""

import asyncio
import socket
import threading
from collections.abc import Callable
from typing import cast

import pytest

from pipelines.control.observe.alarms import service
from pipelines.control.observe.alarms.inputs import TransitionKind
from pipelines.control.observe.alarms.lifecycle import Transition
from pipelines.control.observe.alarms.mail_receiver import SESSIONS
from pipelines.control.observe.alarms.outbox import CONTACT, MAIL, Notification
from pipelines.control.observe.alarms.receiver import NotAcceptedError, Receiver, ReceiverGoneError
from pipelines.control.observe.alarms.receivers import receivers
from pipelines.control.observe.alarms.service import Alarms
from pipelines.control.observe.dynamodb import Store
from shared.contracts.alarms import Alarm, AlarmKind, Audience
from shared.contracts.documents import Catalogue, Contact, Entry
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


def notice(channel: str) -> Notification:
    return Notification(
        id="1",
        receiver=f"{channel}/shop/ops",
        made_ms=NOW,
        transition=Transition(change=TransitionKind.OPENED, alarm=ALARM),
    )


def send(channel: str, catalogue: Catalogue | None) -> None:
    receiver = receivers(KNOWN, lambda: catalogue, NoSecrets(), lambda: NOW)[channel]
    asyncio.run(receiver.send(notice(channel)))


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


def test_a_silent_mail_server_is_asked_by_few_threads_at_a_time_and_each_mail_has_its_turn() -> None:
    ops = Contact(name="ops", tenant="shop", email="ops@example.com")
    catalogue = Catalogue({b"shop/contact/ops": Entry(version=1, document=ops)})
    threads: list[int] = []

    async def mail_many(port: int) -> list[BaseException | None]:
        given = {"alarm_mail_server": f"127.0.0.1:{port}", "alarm_send_seconds": 0.3}
        known = KNOWN.model_copy(update=given)
        receiver = receivers(known, lambda: catalogue, NoSecrets(), lambda: NOW)[MAIL]
        sent = asyncio.gather(
            *(receiver.send(notice(MAIL)) for _ in range(3 * SESSIONS)), return_exceptions=True
        )
        while not sent.done():
            threads.append(sum(each.name == "alarm-receiver" for each in threading.enumerate()))
            await asyncio.sleep(0.01)
        return await sent

    with socket.create_server(("127.0.0.1", 0), backlog=4 * SESSIONS) as silent:
        found = asyncio.run(mail_many(silent.getsockname()[1]))
    assert [type(each) for each in found] == [NotAcceptedError] * 3 * SESSIONS
    assert SESSIONS <= max(threads) <= 2 * SESSIONS, "a thread may still be ending when the next begins"

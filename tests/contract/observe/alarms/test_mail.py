"""Customers' e-mail goes through a real SMTP server with STARTTLS, as the alarm's webhook would."""

from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path

import pytest

from shared.contracts.documents import Contact
from shared.runtime.clock import wall_clock
from shared.runtime.secret_stores import store_for
from shared.runtime.secrets import SecretTable
from tests.contract.observe.alarms.conftest import KEY, Start, refused, stalled
from tests.contract.observe.alarms.far import Far
from tests.contract.observe.alarms.mail_server import PASSWORD, MailServer, mail_server
from tests.harness.waiting import eventually

ANN = Contact(name="ann", tenant="shop", email="ann@example.org")


@pytest.fixture
def secrets(tmp_path: Path) -> Iterator[SecretTable]:
    path = tmp_path / "secrets.yaml"
    path.write_text(f'operators/mail: "{PASSWORD}\\n"\nshop/alarms: {KEY}\n')
    path.chmod(0o600)
    table = SecretTable(store_for("local", path)).start()
    yield table
    table.stop()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[MailServer]:
    with mail_server(tmp_path) as found:
        yield found


def part(message: EmailMessage, kind: str) -> str:
    found = message.get_body((kind,))
    assert found is not None
    return str(found.get_content())


def errors(caplog: pytest.LogCaptureFixture) -> str:
    return str([getattr(record, "error", "") for record in caplog.records])


def test_a_customer_is_mailed_what_failed_why_and_how_to_repair_it_and_when_it_is_over(
    server: MailServer, start: Start
) -> None:
    other = Contact(name="bob", tenant="other", email="bob@example.org")
    with start(ANN, other, **server.settings) as alarms:
        alarms.update(refused())
        alarms.update(stalled("route"))
        eventually(lambda: len(server.messages) == 2, 60, "the customer got no mail")
    (sender, to, opened), (_, _, resolved) = server.messages
    assert (sender, to) == ("hifi@example.com", ["ann@example.org"])
    assert opened["Subject"] == "hifi opened: customer hook 404 (shop)"
    for kind in ("plain", "html"):
        text = part(opened, kind)
        for said in (
            "destination hook (pipe orders) answered 404 for 3 events in the last minutes",
            "Since",
            "the endpoint has moved or is gone",
            "correct the URL, or restore the endpoint",
            "https://console.example.com/documents/shop/destinations/hook",
        ):
            assert said in text, (kind, said)
    assert "It is over" in part(resolved, "plain")
    assert opened["References"] == resolved["References"]
    assert opened["Message-ID"] != resolved["Message-ID"]


def test_a_contact_with_a_webhook_and_an_address_gets_both(
    server: MailServer, receiver: Far, start: Start
) -> None:
    both = Contact(name="ann", tenant="shop", email="ann@example.org", webhook=receiver.url)
    with start(both, **server.settings) as alarms:
        alarms.update(refused())
        eventually(lambda: server.messages and receiver.requests, 60, "one of both got nothing")


def test_what_the_server_does_not_take_is_sent_again_with_the_same_id_and_logged(
    server: MailServer, start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    server.answers = ["451 ann@example.org is greylisted", "550 not today"]
    with start(ANN, **server.settings) as alarms:
        alarms.update(refused())
        eventually(lambda: bool(server.messages), 60, "it was not sent again")
    assert server.tried == 3
    assert "the mail server answered 451" in errors(caplog)
    assert "the mail server answered 550" in errors(caplog)
    assert "ann@example.org" not in caplog.text + errors(caplog)


def test_a_password_is_given_only_to_a_server_with_a_valid_certificate(
    server: MailServer, start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    with start(ANN, **server.settings | {"alarm_mail_ca": None}) as alarms:
        alarms.update(refused())
        eventually(lambda: "certificate is not valid" in errors(caplog), 60, "nothing was tried")
    assert server.messages == []


def test_nothing_is_sent_without_encryption(
    tmp_path: Path, start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    with mail_server(tmp_path, encrypts=False) as plain, start(ANN, **plain.settings) as alarms:
        alarms.update(refused())
        eventually(lambda: "lacks STARTTLS" in errors(caplog), 60, "nothing was tried")
    assert plain.messages == []


def test_an_address_is_not_mailed_and_the_log_says_so_while_no_server_is_configured(
    start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    with start(ANN, now=wall_clock) as alarms:
        alarms.update(refused())
        eventually(lambda: "no receiver is configured for mail" in errors(caplog), 60, "nothing is logged")

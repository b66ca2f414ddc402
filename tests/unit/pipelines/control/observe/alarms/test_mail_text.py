"""An alarm's e-mail: no name or text makes a header, a part or an element of its own."""

import email
from email.message import EmailMessage
from email.policy import default
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.control.observe.alarms.inputs import TransitionKind
from pipelines.control.observe.alarms.lifecycle import Transition
from pipelines.control.observe.alarms.mail_text import mail_of
from pipelines.control.observe.alarms.outbox import Notification
from shared.contracts.alarms import Alarm, AlarmKind, Audience
from shared.contracts.document_parsing import ConfigError, parse
from shared.contracts.documents import Contact
from tests.unit.pipelines.control.observe.alarm_inputs import settings

HEADERS = {
    *("From", "To", "Subject", "Date", "Message-ID", "References"),
    *("Auto-Submitted", "MIME-Version", "Content-Type"),
}
HOSTILE = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"])),
    st.just("x\r\nBcc: eve@example.org\r\n\r\n<script>alert(1)</script>"),
    st.just("\n.\nMAIL FROM:<eve@example.org>"),
    st.just("</td><img src=x onerror=alert(1)>&amp;"),
)


def notification(**fields: str) -> Notification:
    given = {"tenant": "shop", "subject": "hook 404", "text": "it fails", **fields}
    alarm = Alarm(
        id="0000000000001-aa",
        kind=AlarmKind.CUSTOMER,
        audience=Audience.CUSTOMER,
        opened_ms=1,
        updated_ms=1,
        **given,  # type: ignore[arg-type]
    )
    transition = Transition(change=TransitionKind.OPENED, alarm=alarm)
    return Notification(id="0000000000001-bb", receiver="mail/ann", made_ms=1, transition=transition)


class _Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.links += [value or "" for name, value in attrs if name == "href"]


@given(
    st.fixed_dictionaries(dict.fromkeys(("tenant", "subject", "text", "cause", "fix", "document"), HOSTILE))
)
def test_no_text_adds_a_header_a_part_or_an_element(fields: dict[str, str]) -> None:
    made = mail_of(
        notification(**fields), "hifi@example.com", "ann@example.org", "https://console.example.com"
    )
    read = email.message_from_bytes(made.as_bytes(), policy=default)
    assert isinstance(read, EmailMessage)
    assert set(read.keys()) == HEADERS and len(read.keys()) == len(HEADERS)
    assert str(read["To"]) == "ann@example.org"
    assert [each.get_content_type() for each in read.iter_parts()] == ["text/plain", "text/html"]
    body = read.get_body(("html",))
    assert body is not None
    elements = _Elements()
    elements.feed(body.get_content())
    assert set(elements.seen) <= {
        *("html", "head", "meta", "title", "body", "h1", "table", "tr", "th", "td", "p", "a", "small")
    }
    assert all(link.startswith("https://console.example.com/") for link in elements.links)


@pytest.mark.parametrize(
    "address",
    [
        "ann@example.org\n",
        "ann@example.org\r\nBcc: eve@example.org",
        "Ann <ann@example.org>",
        "ann@example.org, eve@example.org",
        '"a b"@example.org',
        "ann%inner@example.org",
        "ann@localhost",
        "ann@[127.0.0.1]",
        "änn@example.org",
        "a" * 250 + "@example.org",
        "",
    ],
)
def test_what_is_no_plain_address_is_refused(address: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse({"kind": "contact", "name": "ann", "tenant": "shop", "email": address})
    assert refused.value.path == "$.email"


def test_a_contact_needs_a_webhook_or_an_address() -> None:
    raw = {"kind": "contact", "name": "ann", "tenant": "shop"}
    with pytest.raises(ConfigError, match="needs a `webhook` or an `email`"):
        parse(raw)
    assert parse(raw | {"email": "ann.b+hifi@mail.example.org"}) == Contact(
        name="ann", tenant="shop", email="ann.b+hifi@mail.example.org"
    )


def test_a_name_does_not_end_with_a_line_feed() -> None:
    for fields in ({"name": "ann\n"}, {"tenant": "shop\n"}):
        raw = {"kind": "contact", "name": "ann", "tenant": "shop", "email": "ann@example.org"}
        with pytest.raises(ConfigError):
            parse(raw | fields)


@pytest.mark.parametrize(
    "given",
    [
        {"alarm_mail_server": "mail.example.com"},
        {"alarm_mail_from": "hifi@example.com"},
        {
            "alarm_mail_server": "mail.example.com",
            "alarm_mail_from": "hifi@example.com\nBcc: eve@example.org",
        },
        {"alarm_mail_user": "hifi"},
        {"alarm_mail_user": "hifi", "alarm_mail_password": "the password itself"},
    ],
)
def test_settings_of_mail_that_are_not_complete_stop_the_start(given: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="alarm_mail"):
        settings(**given)

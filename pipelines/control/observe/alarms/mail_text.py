"""The e-mail of an alarm: what failed, since when, the likely cause, the fix, and where to look. Pure."""

from collections.abc import Iterator
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import formatdate
from html import escape
from typing import Final

from pipelines.control.observe.alarms.formatting import moment, without_remedy
from pipelines.control.observe.alarms.inputs import TransitionKind
from pipelines.control.observe.alarms.outbox import Notification, contact_of, subject
from shared.contracts.alarms import Alarm
from shared.contracts.console_pages import document_path
from shared.contracts.envelope import MINUTE_MS

_HEADLINES: Final = {
    TransitionKind.OPENED: "Something fails that only you can repair",
    TransitionKind.UPDATED: "It still fails",
    TransitionKind.RESOLVED: "It is over",
}
_LINK: Final = "Look at it"
_CELL: Final = "padding:4px 12px 4px 0;text-align:left;vertical-align:top"


def mail_of(notification: Notification, sender: str, to: str, console_url: str | None) -> EmailMessage:
    """The message of a notification, the same at every try.

    Args:
        notification: of a contact.
        sender: address of hifi.
        to: address of the contact.
        console_url: where the customer finds the console; None leaves the link out.
    """
    alarm, domain = notification.transition.alarm, sender.rpartition("@")[2]
    message = EmailMessage(policy=SMTP)
    message["From"] = sender
    message["To"] = to
    message["Subject"] = subject(notification.transition)
    message["Date"] = formatdate(notification.made_ms / 1000)
    message["Message-ID"] = f"<{notification.id}@{domain}>"
    message["References"] = f"<{alarm.id}@{domain}>"  # one thread for each alarm
    message["Auto-Submitted"] = "auto-generated"  # RFC 3834: no out-of-office answers it
    headline, rows = _HEADLINES[notification.transition.change], list(_rows(alarm))
    link = _link(alarm, console_url)
    why = f"Contact {contact_of(notification.receiver)} of tenant {alarm.tenant} names this address."
    message.set_content(_text(headline, rows, link, why))
    message.add_alternative(_html(headline, rows, link, why), subtype="html")
    return message


def _rows(alarm: Alarm) -> Iterator[tuple[str, str]]:
    yield "What", without_remedy(alarm)
    yield "Since", moment(alarm.opened_ms // MINUTE_MS)
    if alarm.resolved_ms is not None:
        yield "Until", moment(alarm.resolved_ms // MINUTE_MS)
    if alarm.cause:
        yield "Likely cause", alarm.cause
    if alarm.fix:
        yield "Fix", alarm.fix


def _link(alarm: Alarm, console_url: str | None) -> str | None:
    if console_url is None:
        return None
    kind, _, name = alarm.document.partition("/")
    return console_url.rstrip("/") + (document_path(alarm.tenant, kind, name) if name else "/")


def _text(headline: str, rows: list[tuple[str, str]], link: str | None, why: str) -> str:
    lines = [*(f"{name}: {_one_line(text)}" for name, text in rows), *([f"{_LINK}: {link}"] if link else ())]
    return "\n\n".join((headline, "\n".join(lines), why)) + "\n"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _html(headline: str, rows: list[tuple[str, str]], link: str | None, why: str) -> str:
    cells = "".join(
        f'<tr><th style="{_CELL}">{escape(name)}</th><td style="{_CELL}">{escape(text)}</td></tr>'
        for name, text in rows
    )
    linked = f'<p><a href="{escape(link)}">{_LINK}</a></p>' if link else ""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>hifi</title></head>'
        f'<body style="font-family:sans-serif"><h1 style="font-size:18px">{escape(headline)}</h1>'
        f"<table>{cells}</table>{linked}<p><small>{escape(why)}</small></p></body></html>"
    )

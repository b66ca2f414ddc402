"""A mail server on a real socket with STARTTLS and a login, which records what it accepts."""

import datetime
import email
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import EmailMessage
from email.policy import default
from pathlib import Path
from typing import Any, Final

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, LoginPassword

from tests.contract.answer_acts import certificate_of_itself, serving
from tests.harness.waiting import free_port

USER: Final = "hifi"
PASSWORD: Final = "a password of the mail server"


class MailServer:
    """The accepted messages, the clients' attempts, and the answers to messages."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self.certificate = folder / "mail-server.pem"
        self.answers: list[str] = []
        """Answers to the next messages, in turn; later ones are accepted."""

        self.tried = 0
        self.messages: list[tuple[str, list[str], EmailMessage]] = []
        """Envelope sender, envelope recipients, message."""

    @property
    def settings(self) -> dict[str, Any]:
        """Settings for alarms that are sent through this server."""
        return {
            "alarm_mail_server": f"127.0.0.1:{self.port}",
            "alarm_mail_from": "hifi@example.com",
            "alarm_mail_user": USER,
            "alarm_mail_password": "secret://operators/mail",
            "alarm_mail_ca": self.certificate,
            "alarm_console_url": "https://console.example.com",
        }

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:  # noqa: N802
        """Called by aiosmtpd for each message."""
        self.tried += 1
        if self.answers:
            return self.answers.pop(0)
        message = email.message_from_bytes(envelope.content, policy=default)
        assert isinstance(message, EmailMessage)
        self.messages.append((envelope.mail_from, envelope.rcpt_tos, message))
        return "250 accepted"

    def login(self, server: Any, session: Any, envelope: Any, mechanism: str, given: Any) -> AuthResult:
        """Called by aiosmtpd for each login."""
        wanted = LoginPassword(USER.encode(), PASSWORD.encode())
        return AuthResult(success=given == wanted, handled=False)


@contextmanager
def mail_server(folder: Path, *, encrypts: bool = True) -> Iterator[MailServer]:
    """Run a server until the block ends."""
    found = MailServer(folder)
    pem = certificate_of_itself(datetime.timedelta(days=1))
    found.certificate.write_bytes(pem)
    tls: dict[str, Any] = {"tls_context": serving(pem), "require_starttls": True} if encrypts else {}
    controller = Controller(
        found,
        hostname="127.0.0.1",
        port=found.port,
        authenticator=found.login,
        auth_required=encrypts,
        **tls,
    )
    controller.start()
    try:
        yield found
    finally:
        controller.stop()

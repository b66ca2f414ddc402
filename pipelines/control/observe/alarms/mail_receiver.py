"""Customers' e-mail addresses as receivers: an encrypted SMTP session for each message. It does not retry."""

import asyncio
import smtplib
import ssl
from collections.abc import Callable
from email.message import EmailMessage
from typing import Final

from pipelines.control.observe.alarms.mail_text import mail_of
from pipelines.control.observe.alarms.outbox import Notification
from pipelines.control.observe.alarms.receiver import (
    NotAcceptedError,
    ReceiverGoneError,
    contact_now,
    on_thread,
)
from pipelines.control.observe.alarms.settings import MailSettings
from shared.contracts.documents import Catalogue
from shared.contracts.secrets import Secrets, UnknownSecretError, secret_text

SESSIONS: Final = 16
"""Most sessions with the mail server at a time, each on a thread of its own."""


class MailReceiver:
    """Sends through the operator's mail server, which may be in a private network."""

    def __init__(
        self,
        settings: MailSettings,
        catalogue: Callable[[], Catalogue | None],
        secrets: Secrets,
        seconds: float,
    ) -> None:
        self._settings = settings
        self._catalogue = catalogue
        self._secrets = secrets
        self._seconds = seconds
        self._free = asyncio.Semaphore(SESSIONS)

    async def send(self, notification: Notification) -> None:
        """Hand the message to the server, for the address that the contact has now."""
        contact = contact_now(self._catalogue(), notification)
        if contact.email is None:
            raise ReceiverGoneError("the contact has no e-mail address any more")
        own = self._settings
        message = mail_of(notification, own.sender, contact.email, own.console_url)
        await self._free.acquire()
        try:
            async with asyncio.timeout(self._seconds):
                await on_thread(lambda: self._deliver(message), self._free.release)
        except TimeoutError:
            raise NotAcceptedError(f"timeout: no answer within {self._seconds:.1f} s") from None
        except UnknownSecretError as error:
            raise NotAcceptedError(str(error)) from None
        except OSError as error:  # smtplib's own are such errors
            raise NotAcceptedError(_why(error)) from error

    async def close(self) -> None:
        """Nothing to release."""

    def _deliver(self, message: EmailMessage) -> None:
        own = self._settings
        name = own.sender.rpartition("@")[2]  # smtplib would look this machine's name up
        with smtplib.SMTP(own.host, own.port, local_hostname=name, timeout=self._seconds) as server:
            # Made once the server answers: to load the authorities takes 20 ms of CPU.
            server.starttls(context=ssl.create_default_context(cafile=own.authority))
            if own.user is not None and own.password is not None:
                server.login(own.user, secret_text(self._secrets, own.password))
            server.send_message(message)


def _why(error: OSError) -> str:
    """The cause without the server's words, which may quote an address."""
    match error:
        case smtplib.SMTPRecipientsRefused():
            codes = {code for code, _ in error.recipients.values()}
            return f"refused: the mail server answered {min(codes)} for the recipient"
        case smtplib.SMTPNotSupportedError():
            return "the mail server lacks STARTTLS or the login; use one that has them"
        case smtplib.SMTPResponseException():
            return f"refused: the mail server answered {error.smtp_code}"
        case ssl.SSLCertVerificationError():
            return f"the mail server's certificate is not valid: {error.verify_message}"
    return f"unreachable: the mail server: {type(error).__name__}"

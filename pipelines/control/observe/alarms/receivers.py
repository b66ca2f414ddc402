"""Receivers of alarms: an SNS topic, the operator's webhook, customers' webhooks. They do not retry."""

import asyncio
from collections.abc import Callable
from typing import Any, Final

import aiohttp

from pipelines.control.observe.alarms.mail_receiver import MailReceiver
from pipelines.control.observe.alarms.outbox import CONTACT, MAIL, SNS, WEBHOOK, Notification, body, subject
from pipelines.control.observe.alarms.receiver import (
    NotAcceptedError,
    Receiver,
    ReceiverGoneError,
    contact_now,
    on_thread,
)
from pipelines.control.observe.alarms.settings import AlarmSettings
from shared.contracts.documents import Catalogue
from shared.contracts.secrets import Secrets, UnknownSecretError, foreign_secrets
from shared.contracts.signing import key_of, signed
from shared.runtime.clock import Clock
from shared.runtime.egress import RefusedAddressError, open_session

_CONNECTIONS: Final = 32


class SnsReceiver:
    """An SNS topic. boto3 takes the credentials from the environment."""

    def __init__(self, arn: str, endpoint: str | None, seconds: float) -> None:
        self._arn = arn
        self._endpoint = endpoint
        self._seconds = seconds
        self._client: Any = None

    async def send(self, notification: Notification) -> None:
        """Publish on a thread, because boto3 blocks."""
        try:
            await on_thread(lambda: self._publish(notification))
        except Exception as error:  # botocore creates its exception classes at run time
            raise NotAcceptedError(f"SNS: {_code(error)}") from error

    async def close(self) -> None:
        """Nothing to release."""

    def _publish(self, notification: Notification) -> None:
        alarm = notification.transition.alarm
        self._connected().publish(
            TopicArn=self._arn,
            Subject=subject(notification.transition),
            Message=body(notification.transition).decode(),
            MessageAttributes={
                name: {"DataType": "String", "StringValue": value}
                for name, value in (
                    ("change", notification.transition.change),
                    ("kind", alarm.kind),
                    ("tenant", alarm.tenant),
                )
            },
        )

    def _connected(self) -> Any:
        if self._client is None:
            import boto3  # noqa: PLC0415 - a side that needs it pays for it: 30 MiB
            from botocore.config import Config  # noqa: PLC0415

            limits = Config(
                connect_timeout=self._seconds, read_timeout=self._seconds, retries={"total_max_attempts": 1}
            )
            region = self._arn.split(":")[3]
            self._client = boto3.session.Session().client(
                "sns", region_name=region, endpoint_url=self._endpoint, config=limits
            )
        return self._client


class WebhookReceiver:
    """The operator's webhook. Its URL may be in a private network."""

    def __init__(self, url: str, key: str | None, secrets: Secrets, seconds: float, clock: Clock) -> None:
        self._session: aiohttp.ClientSession | None = None
        self._url = url
        self._key = key
        self._secrets = secrets
        self._seconds = seconds
        self._clock = clock

    async def send(self, notification: Notification) -> None:
        """POST the notification."""
        if self._session is None:
            self._session = aiohttp.ClientSession(
                trust_env=False, cookie_jar=aiohttp.DummyCookieJar(), headers={"User-Agent": "hifi"}
            )
        headers = _headers(notification, self._key, self._secrets, self._clock)
        await _post(self._session, self._url, notification, headers, self._seconds)

    async def close(self) -> None:
        """Close connections."""
        if self._session is not None:
            await self._session.close()


class ContactReceiver:
    """Customers' webhooks. Like destinations they must have public addresses."""

    def __init__(
        self,
        catalogue: Callable[[], Catalogue | None],
        secrets: Secrets,
        settings: AlarmSettings,
        clock: Clock,
    ) -> None:
        self._session: aiohttp.ClientSession | None = None
        self._catalogue = catalogue
        self._secrets = secrets
        self._settings = settings
        self._clock = clock

    async def send(self, notification: Notification) -> None:
        """POST to the webhook that the contact has now."""
        contact = contact_now(self._catalogue(), notification)
        if contact.webhook is None:
            raise ReceiverGoneError("the contact has no webhook any more")
        if any(foreign_secrets(contact.tenant, contact.secret)):
            raise NotAcceptedError("the contact names another tenant's secret")
        if self._session is None:
            self._session = open_session(_CONNECTIONS, self._settings.egress)
        headers = _headers(notification, contact.secret, self._secrets, self._clock)
        await _post(self._session, contact.webhook, notification, headers, self._settings.alarm_send_seconds)

    async def close(self) -> None:
        """Close connections."""
        if self._session is not None:
            await self._session.close()


def receivers(
    settings: AlarmSettings, catalogue: Callable[[], Catalogue | None], secrets: Secrets, clock: Clock
) -> dict[str, Receiver]:
    """The configured receivers by their channel."""
    found: dict[str, Receiver] = {CONTACT: ContactReceiver(catalogue, secrets, settings, clock)}
    mail = settings.mail()
    if mail is not None:
        found[MAIL] = MailReceiver(mail, catalogue, secrets, settings.alarm_send_seconds)
    seconds = settings.alarm_send_seconds
    if settings.alarm_topic is not None:
        found[SNS] = SnsReceiver(settings.alarm_topic, settings.alarm_topic_endpoint, seconds)
    if settings.alarm_webhook is not None:
        key = settings.alarm_webhook_key
        found[WEBHOOK] = WebhookReceiver(settings.alarm_webhook, key, secrets, seconds, clock)
    return found


def _headers(notification: Notification, key: str | None, secrets: Secrets, clock: Clock) -> dict[str, str]:
    headers = {"Content-Type": "application/json"}
    if key is None:
        return headers | {"webhook-id": notification.id}
    try:
        signer = key_of(secrets.get(key))
    except UnknownSecretError as error:
        raise NotAcceptedError(str(error)) from None
    except ValueError as error:
        raise NotAcceptedError(f"bad_secret: {key} {error}") from None
    return headers | signed([signer], notification.id, clock() // 1000, body(notification.transition))


async def _post(
    session: aiohttp.ClientSession,
    url: str,
    notification: Notification,
    headers: dict[str, str],
    seconds: float,
) -> None:
    """POST once. Only the status counts: redirects are not followed and the body is not read."""
    try:
        async with (
            asyncio.timeout(seconds),
            session.post(
                url, data=body(notification.transition), headers=headers, allow_redirects=False
            ) as response,
        ):
            status = response.status
            response.close()
    except TimeoutError:
        raise NotAcceptedError(f"timeout: no answer within {seconds:.1f} s") from None
    except (aiohttp.ClientError, OSError, ValueError) as error:
        raise NotAcceptedError(_why(error)) from error
    if not 200 <= status < 300:
        raise NotAcceptedError(f"the webhook answered {status}")


def _why(error: Exception) -> str:
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    if isinstance(cause, RefusedAddressError):
        return f"refused_address: the webhook {cause}"
    return f"unreachable: {type(error).__name__}"


def _code(error: Exception) -> str:
    """AWS's error code, or the class of the client's error; never a message."""
    response = getattr(error, "response", None)
    code = response.get("Error", {}).get("Code") if isinstance(response, dict) else None
    return str(code or type(error).__name__)

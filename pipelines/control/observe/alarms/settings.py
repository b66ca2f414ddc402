"""Settings of alarms: thresholds, how often they notify, and the receivers."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from pydantic import Field, model_validator

from shared.contracts.mail_address import MAIL_ADDRESS
from shared.contracts.secrets import secret_name
from shared.runtime.settings import SideSettings

SUBMISSION_PORT: Final = 587
"""Of mail servers for clients (RFC 6409)."""


@dataclass(frozen=True, kw_only=True)
class MailSettings:
    """How e-mail is sent, as AlarmSettings describe it."""

    host: str
    port: int
    sender: str
    user: str | None = None
    password: str | None = None
    authority: Path | None = None
    console_url: str | None = None


class AlarmSettings(SideSettings):
    """The settings of alarms, from HIFI_* environment variables."""

    alarm_open_minutes: float = Field(
        60.0,
        gt=0,
        description="How long after the last lost event was found a loss alarm stays open.",
    )
    alarm_loss_share: float = Field(
        0.01,
        gt=0,
        lt=1,
        description="Share of owed deliveries, lost or dead letters caused by hifi, that raises an alarm.",
    )
    alarm_loss_minutes: int = Field(60, ge=1, description="Minutes over which this share is computed.")
    alarm_doubled_share: float = Field(
        0.001,
        gt=0,
        description="Share of owed deliveries, doubled, that raises an alarm; a crash may double a few.",
    )
    alarm_doubled_minutes: int = Field(10, ge=1, description="Minutes over which this share is computed.")
    alarm_stalled_seconds: float = Field(
        60.0,
        gt=0,
        description="How long a node may read nothing, although there are records, before an alarm.",
    )
    alarm_backlog_minutes: int = Field(
        10, ge=2, le=60, description="How long the backlog of a pipe must grow before an alarm."
    )
    alarm_backlog_events: int = Field(
        100, ge=1, description="Fewest waiting events of a pipe that raise an alarm."
    )
    alarm_silent_minutes: int = Field(
        5, ge=2, description="How long a source that used to send may send nothing before an alarm."
    )
    alarm_rating: float | None = Field(
        None, gt=0, description="The side's rating, events per second; without it there is no rating alarm."
    )
    alarm_rating_part: float = Field(
        1.25, ge=1, description="m: traffic above 1/m of the rating raises an alarm; with 1.25, above 80 %."
    )
    alarm_meter_seconds: float = Field(
        60.0, gt=0, description="How far audit or observe may be behind the topics before an alarm."
    )
    alarm_customer_events: int = Field(
        1,
        ge=1,
        description="Failed events of one destination and reason after which its customer is notified.",
    )
    alarm_skew_psi: float = Field(
        0.2,
        gt=0,
        description="Population stability index of a watched field, against the same hour of the days "
        "before, above which its customer is notified.",
    )
    alarm_skew_missing: float = Field(
        0.05,
        gt=0,
        le=1,
        description="Difference of the shares of events without the watched field above which its customer "
        "is notified.",
    )
    alarm_skew_events: int = Field(
        1_000, ge=1, description="Fewest events, in the hour and in those before it, that are compared."
    )
    alarm_hold_seconds: float = Field(
        120.0,
        ge=0,
        description="How long a condition must be absent before its alarm is resolved; twice as long after "
        "each relapse, sixteen times as long at most.",
    )
    alarm_relapse_minutes: float = Field(
        30.0, ge=0, description="A condition that returns within this time reopens its alarm."
    )
    alarm_update_minutes: float = Field(
        15.0, ge=0, description="Shortest time between two notifications of an open alarm whose text changes."
    )
    alarm_topic: str | None = Field(None, description="ARN of the SNS topic for operators' alarms.")
    alarm_topic_endpoint: str | None = Field(None, description="URL of SNS, if it is not AWS's own.")
    alarm_webhook: str | None = Field(
        None, pattern=r"^https?://", description="URL to which operators' alarms are sent with POST."
    )
    alarm_webhook_key: str | None = Field(
        None, description="Reference (secret://name) to the key that signs these requests."
    )
    alarm_mail_server: str | None = Field(
        None,
        pattern=r"^[A-Za-z0-9.-]+(:\d{1,5})?$",
        description="Mail server (host, or host:port; port 587 unless given) that takes customers' e-mail, "
        "with STARTTLS; without it none is sent.",
    )
    alarm_mail_from: str | None = Field(
        None, description="Address of the e-mail's sender, and where its bounces go."
    )
    alarm_mail_user: str | None = Field(None, description="User at the mail server, if it asks for one.")
    alarm_mail_password: str | None = Field(
        None, description="Reference (secret://name) to the password of this user."
    )
    alarm_mail_ca: Path | None = Field(
        None,
        description="PEM file of the authority that signed the mail server's certificate; the system's "
        "unless given.",
    )
    alarm_console_url: str | None = Field(
        None, pattern=r"^https?://", description="Where customers find the console, for links in e-mail."
    )
    alarm_send_seconds: float = Field(10.0, gt=0, description="Timeout of one request to a receiver.")
    alarm_give_up_hours: float = Field(
        72.0, gt=0, description="How long a notification is retried before it is given up and logged."
    )
    secrets: Path | None = Field(
        None,
        description="YAML file of `name: value` lines that holds the secrets, mode 0600; for development. "
        "Without it they come from AWS Secrets Manager; a local side then has none.",
    )

    def mail(self) -> MailSettings | None:
        """How e-mail is sent; None if it is not."""
        if self.alarm_mail_server is None or self.alarm_mail_from is None:
            return None
        host, _, port = self.alarm_mail_server.partition(":")
        return MailSettings(
            host=host,
            port=int(port or SUBMISSION_PORT),
            sender=self.alarm_mail_from,
            user=self.alarm_mail_user,
            password=self.alarm_mail_password,
            authority=self.alarm_mail_ca,
            console_url=self.alarm_console_url,
        )

    @model_validator(mode="after")
    def _keys_are_references(self) -> Self:
        for name in ("alarm_webhook_key", "alarm_mail_password"):
            value = getattr(self, name)
            if value is not None and secret_name(value) is None:
                raise ValueError(f"{name} is not a reference; write it like secret://operators/alarms")
        return self

    @model_validator(mode="after")
    def _mail_is_complete(self) -> Self:
        if self.alarm_mail_from is not None and not re.search(MAIL_ADDRESS, self.alarm_mail_from):
            raise ValueError("alarm_mail_from is not an address; write it like hifi@example.com")
        if (self.alarm_mail_server is None) != (self.alarm_mail_from is None):
            raise ValueError("alarm_mail_server and alarm_mail_from belong together; set both or neither")
        if (self.alarm_mail_user is None) != (self.alarm_mail_password is None):
            raise ValueError("alarm_mail_user and alarm_mail_password belong together; set both or neither")
        return self

"""When alarms are raised, how often they are told, and to whom."""

from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from shared.contracts.secrets import secret_name
from shared.runtime.settings import SideSettings


class AlarmSettings(SideSettings):
    """The part of observe's settings that alarms use, from HIFI_* environment variables."""

    alarm_open_minutes: float = Field(
        60.0,
        gt=0,
        description="A proven loss keeps its alarm open so long after the last lost event was found.",
    )
    alarm_loss_share: float = Field(
        0.01, gt=0, lt=1, description="Lost and wrongly dead share of the deliveries owed that is an alarm."
    )
    alarm_loss_minutes: int = Field(60, ge=1, description="Minutes over which that share is taken.")
    alarm_doubled_share: float = Field(
        0.001,
        gt=0,
        description="Doubled share of the deliveries owed that is an alarm; a crash may double a few.",
    )
    alarm_doubled_minutes: int = Field(10, ge=1, description="Minutes over which that share is taken.")
    alarm_stalled_seconds: float = Field(
        60.0, gt=0, description="A node that reads nothing for so long, though it could, is an alarm."
    )
    alarm_backlog_minutes: int = Field(
        10, ge=2, le=60, description="What waits of a pipe is an alarm when it grew for so long."
    )
    alarm_backlog_events: int = Field(
        100, ge=1, description="Fewer waiting events of a pipe than this are no alarm."
    )
    alarm_silent_minutes: int = Field(
        5, ge=2, description="A source that used to send and has sent nothing for so long is an alarm."
    )
    alarm_rating: float | None = Field(
        None, gt=0, description="Events per second that the side was measured to carry; none: no such alarm."
    )
    alarm_rating_part: float = Field(
        1.25, ge=1, description="m: traffic over 1/m of the rating is an alarm; at 1.25, over 80 %."
    )
    alarm_meter_seconds: float = Field(
        60.0, gt=0, description="audit or observe being behind the topics for longer than this is an alarm."
    )
    alarm_customer_events: int = Field(
        1, ge=1, description="Failed events of one destination and reason that its customer is told of."
    )
    alarm_hold_seconds: float = Field(
        120.0,
        ge=0,
        description="An alarm is resolved when its condition was absent for so long; twice as long after "
        "each relapse, sixteen times at most.",
    )
    alarm_relapse_minutes: float = Field(
        30.0, ge=0, description="A condition that comes back so soon after is the same alarm, opened again."
    )
    alarm_update_minutes: float = Field(
        15.0, ge=0, description="An open alarm whose text changes is told of no more often than this."
    )
    alarm_topic: str | None = Field(None, description="ARN of the SNS topic that operators' alarms go to.")
    alarm_topic_endpoint: str | None = Field(
        None, description="URL of SNS, where it is not that of the AWS region in the environment."
    )
    alarm_webhook: str | None = Field(
        None, pattern=r"^https?://", description="URL that operators' alarms are sent to with POST."
    )
    alarm_webhook_key: str | None = Field(
        None, description="Reference, secret://name, of the key that signs these requests."
    )
    alarm_send_seconds: float = Field(10.0, gt=0, description="Deadline of one request to a receiver.")
    alarm_give_up_hours: float = Field(
        72.0, gt=0, description="A notice that its receiver did not take for so long is given up, and logged."
    )
    secrets: Path | None = Field(
        None,
        description="YAML file of `name: value` lines that holds the secrets, mode 0600; for development. "
        "Without it they come from AWS Secrets Manager, on a local side from nowhere.",
    )

    @model_validator(mode="after")
    def _key_is_a_reference(self) -> Self:
        if self.alarm_webhook_key is not None and secret_name(self.alarm_webhook_key) is None:
            raise ValueError("alarm_webhook_key is no reference; write it like secret://operators/alarms")
        return self

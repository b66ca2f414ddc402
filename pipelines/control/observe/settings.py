"""Settings of the observe process."""

from pydantic import Field

from pipelines.control.observe.alarms.settings import AlarmSettings
from shared.runtime.settings import BodySettings


class ObserveSettings(AlarmSettings, BodySettings):
    """Settings of the observe process, from HIFI_* environment variables."""

    host: str = Field("127.0.0.1", description="Address to listen on: API, health and metrics.")
    port: int = Field(8089, ge=0, le=65535, description="TCP port to listen on; 0 takes a free one.")
    names: frozenset[str] = Field(
        frozenset(),
        description="JSON list of DNS names by which it is asked, beside addresses and the cluster's names.",
    )
    look_seconds: float = Field(5.0, gt=0, description="Seconds between two passes of the control loop.")
    store_seconds: float = Field(
        15.0,
        ge=0,
        description="Seconds between two writes of changes to the store; a larger value writes less, "
        "and more of the ledger is read again after a crash.",
    )
    settle_seconds: float = Field(
        180.0,
        ge=0,
        description="How long after all nodes have processed its input a missing event counts as lost.",
    )
    behind_seconds: float = Field(
        60.0, gt=0, description="Lag behind the topics above which the API and the console report it."
    )
    keep_hours: int = Field(
        6,
        ge=1,
        le=72,
        description="Hours after which only the card of a settled minute is kept.",
    )
    skew_seconds: float = Field(60.0, gt=0, description="Seconds between two comparisons of watched fields.")
    store_endpoint: str | None = Field(
        None, description="URL of DynamoDB Local; without it, DynamoDB of the AWS region in the environment."
    )
    store_table: str = Field("hifi-meter", description="DynamoDB table of states, cards and alarms.")
    documents_table: str | None = Field(
        None,
        description="DynamoDB table of the customers' documents, which also holds the register of "
        "activities; without it none are known.",
    )
    documents_endpoint: str | None = Field(None, description="URL of DynamoDB Local, as of store_endpoint.")
    naming_records: int = Field(
        2_000_000,
        ge=1,
        description="Most records read to find which ids a minute lost or doubled.",
    )

"""What observe can be told from outside."""

from pydantic import Field

from pipelines.control.observe.alarms.settings import AlarmSettings


class ObserveSettings(AlarmSettings):
    """Settings of the observe process, from HIFI_* environment variables."""

    host: str = Field("127.0.0.1", description="Address to listen on: API, health and metrics.")
    port: int = Field(8089, ge=0, le=65535, description="TCP port to listen on; 0 takes a free one.")
    look_seconds: float = Field(5.0, gt=0, description="Seconds between two looks at offsets and minutes.")
    store_seconds: float = Field(
        15.0,
        ge=0,
        description="Seconds between two writes of what changed; more of the ledger is read again "
        "after a crash, and less is written.",
    )
    settle_seconds: float = Field(
        180.0,
        ge=0,
        description="What is missing is called lost when so long ago all nodes had passed where it was.",
    )
    behind_seconds: float = Field(
        60.0, gt=0, description="Being behind the topics for longer than this is said on every page."
    )
    keep_hours: int = Field(
        6,
        ge=1,
        le=72,
        description="Hours after which a minute in which nothing is left open is only kept as its card.",
    )
    store_endpoint: str | None = Field(
        None, description="URL of DynamoDB Local; without it, DynamoDB of the AWS region in the environment."
    )
    store_table: str = Field("hifi-meter", description="DynamoDB table of states, cards and alarms.")
    naming_records: int = Field(
        2_000_000,
        ge=1,
        description="Most records read to find which ids a minute lost or doubled.",
    )

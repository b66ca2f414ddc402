"""Settings of a process that reads what its side has written."""

from pydantic import Field

from shared.runtime.settings import SideSettings


class ReadabilitySettings(SideSettings):
    """Which side, and where its queries stand, from HIFI_* environment variables."""

    positions: dict[str, dict[str, int]] = Field(
        {},
        description="By streaming query, for each `topic/partition` the offset of the next record, JSON.",
    )

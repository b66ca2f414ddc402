"""Settings of the console process."""

from pydantic import Field

from shared.runtime.settings import SideSettings


class ConsoleSettings(SideSettings):
    """Settings of one console process, from HIFI_* environment variables."""

    host: str = Field("127.0.0.1", description="Address to listen on.")
    port: int = Field(8090, ge=0, le=65535, description="TCP port to listen on; 0 takes a free one.")
    observe_url: str = Field(
        "http://127.0.0.1:8089", pattern=r"^https?://", description="URL of observe, without a path."
    )
    look_seconds: float = Field(
        5.0, ge=0.2, le=60, description="Seconds between two polls of observe while a page is open."
    )
    observe_timeout: float = Field(10.0, gt=0, description="Timeout of a request to observe, seconds.")
    drain_timeout: int = Field(3, ge=1, description="Seconds for open pages to close when the process stops.")

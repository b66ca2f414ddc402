"""collect's settings."""

from pydantic import Field

from shared.contracts.limits import MAX_BODY_BYTES
from shared.runtime.settings import SideSettings


class CollectSettings(SideSettings):
    """Settings of one collect process, from HIFI_* environment variables."""

    host: str = Field("127.0.0.1", description="Address to listen on.")
    port: int = Field(8080, ge=0, le=65535, description="TCP port to listen on; 0 takes a free one.")
    metrics_port: int | None = Field(
        None,
        ge=0,
        le=65535,
        description="TCP port of /metrics; by default the port for events. Set another if that one is "
        "reachable from the internet; 0 takes a free one.",
    )
    ack_timeout: float = Field(
        10.0,
        gt=0,
        description="Seconds a request waits for Kafka's acknowledgement before it is answered 503.",
    )
    body_timeout: float = Field(30.0, gt=0, description="Seconds in which a request's body must arrive.")
    head_timeout: float = Field(10.0, gt=0, description="Seconds in which a request's head must arrive.")
    keep_alive: int = Field(
        75, gt=0, description="Seconds an idle connection is kept open; longer than the load balancer does."
    )
    drain_timeout: int = Field(
        25, gt=0, description="Seconds that requests in flight get to complete at a stop."
    )
    linger_ms: int = Field(15, ge=0, description="Milliseconds a record waits for others to be sent with it.")
    queue_bytes: int = Field(
        256 * 1024 * 1024,
        gt=0,
        description="Bytes of records waiting for Kafka; beyond that requests get 503.",
    )
    max_requests: int = Field(
        4096,
        gt=0,
        description="Requests handled at once; beyond that the request that has been incomplete for longest "
        "gets 503, or the new one if the bodies of all others are complete.",
    )
    bodies_bytes: int = Field(
        64 * 1024 * 1024,
        ge=MAX_BODY_BYTES,
        description="Bytes that all request bodies may take together, after decompression, and large answers "
        "that wait for their clients; beyond that the request that has been incomplete for longest gets "
        "503, or the answer that has waited for longest is dropped with its connection.",
    )

"""What collect can be told from outside."""

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
        description="TCP port of /metrics; none: the events' own. Where the internet reaches that one, give "
        "another; 0 takes a free one.",
    )
    ack_timeout: float = Field(
        10.0, gt=0, description="Seconds a request waits for Kafka's confirmation before it is answered 503."
    )
    body_timeout: float = Field(
        30.0, gt=0, description="Seconds in which a request's body must have come in."
    )
    head_timeout: float = Field(
        10.0, gt=0, description="Seconds in which a request's head must have come in."
    )
    keep_alive: int = Field(
        75, gt=0, description="Seconds an idle connection is kept; longer than a balancer's."
    )
    drain_timeout: int = Field(25, gt=0, description="Seconds that requests in flight get at a stop.")
    linger_ms: int = Field(15, ge=0, description="Milliseconds a record waits for company before it is sent.")
    queue_bytes: int = Field(
        256 * 1024 * 1024,
        gt=0,
        description="Records waiting for Kafka, in bytes; beyond that requests get 503.",
    )
    max_requests: int = Field(
        4096,
        gt=0,
        description="Requests handled at once; beyond that they get 503 before their body is read.",
    )
    bodies_bytes: int = Field(
        64 * 1024 * 1024,
        ge=MAX_BODY_BYTES,
        description="Bytes that the bodies of all requests may take together, after decompression; past it "
        "the request that has been incomplete for longest gets 503.",
    )

"""Settings of the transmit node. Spark sends the object to the Python workers with the function they run."""

from pathlib import Path
from typing import Final

from pydantic import Field

from shared.runtime.settings import SparkSettings

LEAST_DEADLINE_SECONDS: Final = 3.0
"""A request starts a second before the deadline at the latest; with less than this few would start at all."""


class TransmitSettings(SparkSettings):
    """Settings of sending: parallelism, timeouts, retries and the memory of deliveries."""

    transmit_tasks: int = Field(
        1,
        ge=1,
        description="Tasks of a micro-batch, each with a Python worker: the cores used for sending.",
    )
    transmit_batch_events: int = Field(
        20_000, ge=1, description="Most events of one micro-batch: so many may be sent twice after a crash."
    )
    unsettled_bytes: int = Field(
        64 * 1024 * 1024,
        ge=1,
        description="Most bytes of events that a task has under way; above it the task pauses reading. By as "
        "much again masks and transforms may make them larger, before the next ones are transformed.",
    )
    deadline_seconds: float = Field(
        10.0,
        ge=LEAST_DEADLINE_SECONDS,
        description="Deadline of a micro-batch, seconds; events without an answer by then are retried later.",
    )
    patience_seconds: float = Field(
        0.8,
        gt=0,
        description="How long the fast lane waits for one answer; then the destination's events go to the "
        "slow lane, until it is fast again. It waits as long for a pipe's masks and transform.",
    )
    turn_seconds: float = Field(
        2.0,
        gt=0,
        description="How long the fast lane waits for one of a destination's slots before it does the "
        "same. In the slow lane: how long requests to a destination may go on waiting while nothing else is "
        "under way, before they are left for later.",
    )
    fast_trigger: str = Field(
        "0 seconds",
        description="Least time from one micro-batch of the fast lane to the next. However few events one "
        "has, it costs some 60 ms of CPU: more time makes fewer of them, and events wait half of it longer.",
    )
    slow_trigger: str = Field("1 second", description="How often the slow lane reads events.")
    slow_batch_events: int = Field(
        5_000, ge=1, description="Most events of one micro-batch of the slow lane."
    )
    connections: int = Field(
        512,
        ge=1,
        description="Most requests in flight in one Python worker, over all destinations; a tenant has half "
        "of them at most. One to S3 takes up to five connections, any other takes one.",
    )
    local_tries: int = Field(3, ge=1, description="Most requests for an event within one micro-batch.")
    local_pause_seconds: float = Field(
        0.05, ge=0, description="Pause before the second try; four times as long before each further one."
    )
    local_pause_limit_seconds: float = Field(
        1.0,
        ge=0,
        description="A longer pause, requested by Retry-After, is left to the retry topics; a shorter one, "
        "if the fast lane has no time for it, to the slow lane.",
    )
    give_up_hours: float = Field(
        24.0, gt=0, description="Time after the first try at which an event becomes a dead letter."
    )
    secrets: Path | None = Field(
        None,
        description="YAML file of `name: value` lines that holds the secrets, mode 0600; for development. "
        "Without it they come from AWS Secrets Manager; a local side then has none.",
    )
    secrets_wait_seconds: float = Field(
        5.0,
        ge=0,
        description="How long a new worker waits for the secrets; then it starts without, and events that "
        "need one are retried later.",
    )
    pipe_wait_seconds: float = Field(
        1.0,
        ge=0,
        description="How much longer than two seconds an event waits for the newest configuration, if its "
        "pipe is missing from the one that the worker has. After that it is retried later.",
    )
    memory_seconds: float = Field(
        180.0,
        gt=0,
        description="How long deliveries are remembered, so that what ingest or route repeats after a crash "
        "is not sent twice.",
    )
    memory_entries: int = Field(
        2_000_000,
        ge=1,
        description="Most deliveries in one of the memory's two generations, 25 bytes each.",
    )
    memory_wait_seconds: float = Field(
        2.0,
        ge=0,
        description="How long a task waits to read the receipts written so far before it sends; after that "
        "possible duplicates are preferred to a stall.",
    )

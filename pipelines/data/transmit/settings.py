"""Settings of the transmit node. The object travels to the Python workers with the function they run."""

from pathlib import Path

from pydantic import Field

from shared.runtime.settings import SparkSettings


class TransmitSettings(SparkSettings):
    """How events leave: how many at once, how long for, and what is remembered of it."""

    transmit_tasks: int = Field(
        1,
        ge=1,
        description="Tasks of a micro-batch, each with a Python worker: the cores that sending may use.",
    )
    transmit_batch_events: int = Field(
        20_000, ge=1, description="Most events of one micro-batch: what a crash may send a second time."
    )
    unsettled_bytes: int = Field(
        64 * 1024 * 1024,
        ge=1,
        description="Bytes of events that a task has under way at most; then it takes no more for a while.",
    )
    deadline_seconds: float = Field(
        10.0,
        gt=0,
        description="Nothing in a micro-batch waits longer; what has no answer then is retried later.",
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
        description="How long the fast lane waits for one of a destination's slots; then the same.",
    )
    slow_trigger: str = Field("1 second", description="How often the slow lane looks for events.")
    slow_batch_events: int = Field(
        5_000, ge=1, description="Most events of one micro-batch of the slow lane."
    )
    connections: int = Field(512, ge=1, description="Connections that one Python worker keeps, over all.")
    local_tries: int = Field(
        3, ge=1, description="Requests made for an event inside one micro-batch, at most."
    )
    local_pause_seconds: float = Field(
        0.05, ge=0, description="Pause before the second try; four times as long before each further one."
    )
    local_pause_limit_seconds: float = Field(
        1.0,
        ge=0,
        description="A longer pause than this, asked for by Retry-After, is left to the retry topics.",
    )
    give_up_hours: float = Field(
        24.0, gt=0, description="Time after the first try at which an event goes to the dead-letter topic."
    )
    secrets: Path | None = Field(
        None,
        description="YAML file of `name: value` lines that holds the secrets, mode 0600; for development. "
        "Without it they come from AWS Secrets Manager, on a local side from nowhere.",
    )
    secrets_wait_seconds: float = Field(
        5.0,
        ge=0,
        description="How long a new worker waits for the secrets; without them it begins all the same, and "
        "what needs one is retried later.",
    )
    pipe_wait_seconds: float = Field(
        1.0,
        ge=0,
        description="How long a pipe may be missing from the configuration, on its way.",
    )
    memory_seconds: float = Field(
        180.0,
        gt=0,
        description="How far back deliveries are remembered, so that a replay upstream sends nothing twice.",
    )
    memory_entries: int = Field(
        2_000_000,
        ge=1,
        description="Most deliveries in one of the memory's two generations, 25 bytes each.",
    )
    memory_wait_seconds: float = Field(
        2.0,
        ge=0,
        description="How long a task waits for the receipts written so far before it sends; past that a "
        "duplicate is likelier than a stall is worth.",
    )

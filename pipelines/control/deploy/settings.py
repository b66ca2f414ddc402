"""Settings of the deployer."""

from collections.abc import Callable
from typing import Final, Self

from pydantic import Field, ImportString, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from pipelines.control.deploy.backend import Backend
from pipelines.control.deploy.policy import Policy
from shared.contracts.document_items import DOCUMENTS_TABLE

_DEFAULT: Final = Policy()


class DeploySettings(BaseSettings):
    """Settings of a deploy process, from HIFI_* environment variables. It serves both sides."""

    model_config = SettingsConfigDict(env_prefix="HIFI_", frozen=True, extra="ignore")

    documents_table: str = Field(
        DOCUMENTS_TABLE,
        description="DynamoDB table of the customers' documents, which also holds releases, registers of "
        "activities and leases.",
    )
    documents_endpoint: str | None = Field(
        None, description="URL of DynamoDB Local; without it, DynamoDB of the AWS region in the environment."
    )
    backend: ImportString[Callable[[], Backend]] = Field(
        description="Where the sides run: `package.module:function`, which returns the backend."
    )
    host: str = Field("127.0.0.1", description="Address to listen on: health and metrics.")
    port: int = Field(8098, ge=0, le=65535, description="TCP port to listen on; 0 takes a free one.")
    deploy_seconds: float = Field(1.0, gt=0, le=60, description="Seconds between two looks at a release.")
    lease_seconds: float = Field(
        5.0, gt=0, le=60, description="Seconds of silence after which another process takes over."
    )
    longest_release_look_seconds: float = Field(
        60.0,
        gt=0,
        description="Seconds that one look at the sides may take before another process may take over.",
    )
    activity_seconds: float = Field(
        15.0, gt=0, le=60, description="Seconds of silence after which others may act on a side again."
    )

    canary_percent: int = Field(
        _DEFAULT.canary_percent, ge=1, le=49, description="First share of the traffic, percent."
    )
    watch_minutes: int = Field(
        _DEFAULT.watch_minutes, ge=1, description="Minutes with traffic before the share rises to half."
    )
    watch_events: int = Field(
        _DEFAULT.watch_events, ge=100, description="Events that the version needs in them, and again at half."
    )
    half_minutes: int = Field(_DEFAULT.half_minutes, ge=1, description="Minutes at half before it takes all.")
    switch_seconds: int = Field(
        _DEFAULT.switch_seconds,
        ge=0,
        description="Seconds for which a switch keeps each of its first two shares, so that the side warms "
        "up; 0 moves all traffic at once.",
    )
    bake_minutes: int = Field(
        _DEFAULT.bake_minutes, ge=1, description="Minutes with all traffic before the other side drains."
    )
    proof_events: int = Field(
        _DEFAULT.proof_events, ge=1, description="Events that must arrive byte for byte before traffic."
    )
    ready_seconds: int = Field(
        _DEFAULT.ready_seconds,
        ge=1,
        description="Seconds after which a version that is not ready fails. In AWS its side starts nodes "
        "first, and these pull the images; on one machine it leaves the cores to the other side.",
    )
    prove_seconds: int = Field(
        _DEFAULT.prove_seconds, ge=1, description="Seconds for the events of the proof to arrive."
    )
    load_test_seconds: int = Field(_DEFAULT.load_test_seconds, ge=1, description="Seconds for a load test.")
    watch_seconds: int = Field(
        _DEFAULT.watch_seconds,
        ge=60,
        description="Seconds after which a version without a verdict is undone.",
    )
    release_wait_seconds: int = Field(
        _DEFAULT.release_wait_seconds,
        ge=1,
        description="Seconds that a release with traffic may wait for others, or with all of it for its own "
        "programs, before it is undone.",
    )
    linger_seconds: int = Field(
        _DEFAULT.linger_seconds,
        ge=0,
        description="Seconds for which clients may go on sending to a side whose share became 0: as long as "
        "names are cached, connections are kept, requests are under way, and CloudWatch has no figures yet "
        "of a side that was woken.",
    )
    outcome_seconds: int = Field(
        _DEFAULT.outcome_seconds,
        ge=1,
        description="Seconds after which a release on its way back waits no longer to know what became of "
        "the version's events; longer than HIFI_SETTLE_SECONDS by minutes.",
    )
    most_crashes: int = Field(
        _DEFAULT.most_crashes, ge=1, description="Crashes of its programs that undo a version."
    )
    rating_days: float = Field(
        _DEFAULT.rating_days,
        ge=0,
        description="Days for which a load test of the version counts; 0: releases need none.",
    )
    least_rating: float = Field(
        _DEFAULT.least_rating,
        gt=0,
        le=1,
        description="A version's rating, as a share of the serving side's, at least.",
    )
    retries_seconds: int = Field(
        _DEFAULT.retries_seconds,
        ge=0,
        description="Seconds for which events that wait for their next try, due or not, keep a side from "
        "being parked, counted from when its share became 0; after that they stay in its retry topics until "
        "it runs again. With 0 they never keep it.",
    )

    @model_validator(mode="after")
    def _time_for_a_verdict(self) -> Self:
        for name in ("watch_minutes", "half_minutes"):
            if 60 * getattr(self, name) >= self.watch_seconds:
                raise ValueError(
                    f"HIFI_{name.upper()} is {getattr(self, name)}, but after HIFI_WATCH_SECONDS "
                    f"({self.watch_seconds:,} s) a version without a verdict is undone; raise these seconds"
                )
        return self

    @property
    def policy(self) -> Policy:
        """The limits of releases."""
        return Policy(**{name: getattr(self, name) for name in Policy.__struct_fields__})

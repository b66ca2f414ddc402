"""Settings that processes of a side share. A process has one object: a subclass of `ProcessSettings`.

The deployer belongs to no side, and has settings of its own. Values come from environment variables named
`HIFI_` and the field's name in capitals.
"""

import re
from ipaddress import IPv4Address
from pathlib import Path
from typing import Self

from pydantic import Field, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from shared.contracts.document_items import DOCUMENTS_TABLE
from shared.contracts.documents import LIVE_SECONDS
from shared.contracts.egress_policy import EgressPolicy, Kind, special
from shared.contracts.side_weights import LOCAL


class BuildSettings(BaseSettings):
    """The code that a process runs. Metrics and heartbeats read this by themselves."""

    model_config = SettingsConfigDict(env_prefix="HIFI_", frozen=True, extra="ignore")

    version: str = Field(
        default="",
        description="The version that metrics and heartbeats report, which an image has from its build. "
        "Without it, that of the package.",
    )


class ProcessSettings(BaseSettings):
    """The side that a process belongs to."""

    model_config = SettingsConfigDict(env_prefix="HIFI_", frozen=True, extra="ignore")

    side: str = Field(LOCAL, description="Name of the side, in client ids: local, blue, green.")


class SideSettings(ProcessSettings):
    """Where the side's brokers are, and what it may dial."""

    bootstrap: str = Field(
        description="Kafka bootstrap servers, host:port separated by commas; with iam:// before them for MSK."
    )
    allow_loopback: bool = Field(
        False,
        description="Destinations may be on the machine's own loopback addresses. For a local side only.",
    )

    allow_address: IPv4Address | None = Field(
        None,
        description="One private IPv4 address that the canary's destinations may have, and no customer's.",
    )

    @property
    def egress(self) -> EgressPolicy:
        """The addresses that the side may dial for customers."""
        return EgressPolicy(loopback=self.allow_loopback)

    @property
    def canary_egress(self) -> EgressPolicy:
        """The addresses that the side may dial for its canary, which receives beside it."""
        return EgressPolicy(loopback=self.allow_loopback, address=self.allow_address)

    @model_validator(mode="after")
    def _loopback_only_locally(self) -> Self:
        if self.allow_loopback and self.side != LOCAL and not _on_loopback(self.bootstrap):
            raise ValueError(
                f"allow_loopback is for a {LOCAL} side, and this is {self.side!r} with brokers at "
                f"{self.bootstrap!r}, not on this machine"
            )
        return self

    @field_validator("allow_address")
    @classmethod
    def _private(cls, address: IPv4Address | None) -> IPv4Address | None:
        if address is not None and special(address) != Kind.PRIVATE:
            raise ValueError(f"allow_address: give one private address, not {address}")
        return address


def _on_loopback(bootstrap: str) -> bool:
    return all(address.rpartition(":")[0] == "127.0.0.1" for address in bootstrap.split(","))


class DocumentsSettings(SideSettings):
    """Where the customers' documents are."""

    documents_table: str = Field(
        DOCUMENTS_TABLE,
        description="DynamoDB table of the customers' documents, which also holds tokens, members, registers "
        "of activities, releases and leases.",
    )
    documents_endpoint: str | None = Field(
        None, description="URL of DynamoDB Local; without it, DynamoDB of the AWS region in the environment."
    )


class BodySettings(ProcessSettings):
    """The time and the memory that the bodies of requests to an HTTP server, and its answers, may take."""

    body_timeout: float = Field(
        30.0, gt=0, description="Seconds in which a request's body must arrive; beyond that it gets 408."
    )
    bodies_bytes: int = Field(
        16 * 1024 * 1024,
        ge=1024 * 1024,
        description="Bytes that the bodies of all requests, and large answers that wait for their clients, "
        "may take together; beyond that the request that has been incomplete for longest gets 503, or the "
        "connection of the answer that has waited for longest is dropped.",
    )


class SparkSettings(SideSettings):
    """Settings that a Spark node needs beside the brokers."""

    master: str = Field(
        "local[8,16]",
        description="Spark master: slots (>= partitions of all real-time queries) and tries of a task.",
    )
    checkpoints: str = Field(description="Folder (or s3a:// prefix) of the queries' checkpoints.")
    rehearsal: str = Field(
        "",
        description="Before the names of all topics that the queries read and write: a standby rehearses on "
        "topics of its own. Nothing means the side's topics.",
    )
    jars: Path = Field(description="Folder of the Kafka connector's jars.")
    ready_file: Path | None = Field(
        None, description="Written, with the process's id, once all of its queries process data."
    )
    metrics_host: str = Field("127.0.0.1", description="Address to listen on, for health and metrics.")
    metrics_port: int = Field(
        8083, ge=0, le=65535, description="TCP port of health and metrics; 0 takes a free one."
    )
    driver_memory: str = Field("1g", description="Heap of the driver's JVM.")
    java_options: str = Field(
        "-XX:+UseParallelGC -Xmn640m -XX:-UseAdaptiveSizePolicy -XX:SurvivorRatio=6 "
        "-XX:MaxTenuringThreshold=6 -XX:MetaspaceSize=192m -XX:ReservedCodeCacheSize=256m "
        "-XX:+ExitOnOutOfMemoryError",
        description="Flags of the driver's JVM, but for the size of its heap.",
    )
    class_archive: Path | None = Field(
        None,
        description="Classes of the driver's JVM, to be mapped instead of parsed: a class-data archive or, "
        "from JDK 25 on, an AOT cache. Without it, or if it does not match the jars, the JVM starts slower.",
    )
    ingest_batch: str = Field(
        "15 seconds",
        description="Length of ingest's real-time batches: the checkpoint interval, not the latency; a crash "
        "repeats at most one. At the end of each the node stands still for a moment.",
    )
    route_batch: str = Field(
        "3 seconds",
        description="The same of route's, and the delay of a new configuration; whole seconds, 1 to "
        f"{LIVE_SECONDS}. On every side, whether its checkpoints are on a disk or on S3: a change is to be "
        "in force within five.",
    )

    @field_validator("route_batch")
    @classmethod
    def _few_seconds(cls, text: str) -> str:
        number = re.fullmatch(r"(\d{1,3}) seconds?", text)
        if number is None or not 1 <= int(number[1]) <= LIVE_SECONDS:
            raise ValueError(
                f'route_batch: give whole seconds, "1 second" to "{LIVE_SECONDS} seconds", not {text!r}: a '
                "change is in force with the next batch"
            )
        return text

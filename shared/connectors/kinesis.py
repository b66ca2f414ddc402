"""Options of Amazon Kinesis data streams."""

from collections.abc import Iterator
from typing import Annotated, Final

from msgspec import Meta, Struct

from shared.connectors.aws import AccessKeyId, Endpoint, Region, SecretKey, endpoint_faults, endpoint_hosts
from shared.connectors.spec import ConnectorSpec, OptionFault, OptionHost
from shared.contracts.documents import Batch

RECORDS: Final = 500
"""PutRecords' limit of one request."""

REQUEST_BYTES: Final = 4 * 1024 * 1024
"""Limit of data in a request; PutRecords accepts 5 MiB including partition keys."""


class Options(Struct, kw_only=True, frozen=True):
    """How to reach a stream."""

    stream: Annotated[str, Meta(pattern=r"^[a-zA-Z0-9_.-]{1,128}$(?!\n)", description="name of the stream")]
    region: Region
    access_key_id: AccessKeyId
    secret_access_key: SecretKey
    endpoint: Endpoint | None = None


def _batch(_: Options, limits: Batch) -> Batch:
    return Batch(max_events=min(limits.max_events, RECORDS), max_bytes=min(limits.max_bytes, REQUEST_BYTES))


def _faults(options: Options) -> Iterator[OptionFault]:
    return endpoint_faults(options.endpoint)


def _hosts(options: Options) -> Iterator[OptionHost]:
    return endpoint_hosts(options.endpoint)


def _summary(options: Options) -> str:
    return f"{options.stream} ({options.region})"


SPEC: Final = ConnectorSpec(
    description="an Amazon Kinesis data stream: PutRecords, with an answer for each record",
    options=Options,
    batch=_batch,
    faults=_faults,
    hosts=_hosts,
    summary=_summary,
)

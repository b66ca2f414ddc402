"""Options of Amazon S3 and compatible stores."""

from collections.abc import Iterator
from typing import Annotated, Final

from msgspec import Meta, Struct

from shared.connectors.aws import AccessKeyId, Endpoint, Region, SecretKey, endpoint_faults, endpoint_hosts
from shared.connectors.spec import ConnectorSpec, OptionFault, OptionHost


class Options(Struct, kw_only=True, frozen=True):
    """How to reach a bucket."""

    bucket: Annotated[
        str, Meta(pattern=r"^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$(?!\n)", description="name of the bucket")
    ]
    region: Region
    access_key_id: AccessKeyId
    secret_access_key: SecretKey
    prefix: Annotated[
        str,
        Meta(pattern=r"^[A-Za-z0-9_./=-]{0,512}$(?!\n)", description="begins each object's name: raw/"),
    ] = ""
    endpoint: Endpoint | None = None


def _faults(options: Options) -> Iterator[OptionFault]:
    yield from endpoint_faults(options.endpoint)
    if "//" in options.prefix or options.prefix.startswith("/") or ".." in options.prefix.split("/"):
        yield "$.prefix", "is not a clean path", "write it like raw/events/"


def _hosts(options: Options) -> Iterator[OptionHost]:
    return endpoint_hosts(options.endpoint)


def _summary(options: Options) -> str:
    return f"s3://{options.bucket}/{options.prefix}"


SPEC: Final = ConnectorSpec(
    description="Amazon S3 or a compatible store: gzip-compressed NDJSON objects by tenant, pipe and minute",
    options=Options,
    faults=_faults,
    hosts=_hosts,
    summary=_summary,
)

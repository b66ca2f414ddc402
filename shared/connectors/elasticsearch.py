"""Options of Elasticsearch and OpenSearch."""

import re
from collections.abc import Iterator
from typing import Annotated, Final, Literal
from urllib.parse import urlsplit

from msgspec import Meta, Struct

from shared.connectors.spec import ConnectorSpec, OptionFault, OptionHost
from shared.contracts.documents import SecretRef

_INDEX: Final = r"^[a-z0-9.][a-z0-9._-]{0,254}$(?!\n)"
_URL_FIX: Final = "write it like https://es.example.com"


class Options(Struct, kw_only=True, frozen=True):
    """How to reach an index."""

    url: Annotated[
        str,
        Meta(
            pattern=r"^https?://[^\s?#]+$(?!\n)",
            description="of the cluster, for example https://es.example.com",
        ),
    ]
    index: Annotated[str, Meta(pattern=_INDEX, description="an index, alias or data stream, lower-case")]
    operation: Annotated[
        Literal["index", "create"],
        Meta(description="index overwrites what is there; create leaves it; a data stream takes only create"),
    ] = "index"
    api_key: (
        Annotated[SecretRef, Meta(description="an encoded API key, for example secret://acme/es")] | None
    ) = None
    username: Annotated[str, Meta(description="for basic authentication")] | None = None
    password: Annotated[SecretRef, Meta(description="by name, for example secret://acme/es")] | None = None


def _faults(options: Options) -> Iterator[OptionFault]:
    try:
        url = urlsplit(options.url)
        usable = bool(url.hostname) and url.port != 0
    except ValueError as error:
        yield "$.url", f"is not a URL: {error}", _URL_FIX
        return
    if not usable:
        yield "$.url", "is not a URL", _URL_FIX
    elif url.username or url.password is not None:
        yield "$.url", "holds a user", "write `username`, and `password` as secret://name"
    if (options.username is None) != (options.password is None):
        yield "$.username", "goes with `password`", "write both, or `api_key`"
    if options.api_key and options.username:
        yield "$.api_key", "and `username` exclude each other", "leave one out"
    if re.fullmatch(r"\.{1,2}", options.index):
        yield "$.index", "is not an index name", "write it like events"


def _hosts(options: Options) -> Iterator[OptionHost]:
    yield "$.url", urlsplit(options.url).hostname or ""


def _summary(options: Options) -> str:
    return f"{options.url.rstrip('/')}/{options.index}"


SPEC: Final = ConnectorSpec(
    description="Elasticsearch or OpenSearch: one _bulk request per batch, with an answer for each document",
    options=Options,
    faults=_faults,
    hosts=_hosts,
    summary=_summary,
)

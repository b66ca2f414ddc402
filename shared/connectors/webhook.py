"""Options of HTTP destinations."""

import re
from collections.abc import Iterator
from typing import Annotated, Final, Literal
from urllib.parse import urlsplit

from msgspec import Meta, Struct
from msgspec.structs import replace

from shared.connectors.http_auth import Auth, HttpUrl, OAuth2
from shared.connectors.spec import ConnectorSpec, OptionFault, OptionHost
from shared.contracts import signing
from shared.contracts.documents import Batch, SecretRef
from shared.contracts.secrets import SCHEME, secret_name

Format = Literal["batch", "array", "ndjson", "event"]
"""batch: CloudEvents' JSON batch. array: a JSON array of the events' data. ndjson: a CloudEvent a line.
event: one CloudEvent, structured, so one a request."""

_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE: Final = re.compile(r"[\t\x20-\x7e]*")
_OWN_HEADERS: Final = frozenset(
    {"content-type", "content-length", "content-encoding", "transfer-encoding", "connection", "host"}
)
_AUTHORISING: Final = frozenset({"authorization", "proxy-authorization", "cookie"})
_URL_FIX: Final = "write it like https://example.com/events, spaces as %20"


class Signing(Struct, kw_only=True, frozen=True):
    """Signatures of Standard Webhooks."""

    keys: Annotated[tuple[SecretRef, ...], Meta(min_length=1, max_length=8)]
    """Every key signs every request. To rotate a key, name both for a while."""


class Options(Struct, kw_only=True, frozen=True):
    """How to reach an HTTP endpoint."""

    url: Annotated[HttpUrl, Meta(description="where to POST, for example https://example.com/hook")]
    headers: Annotated[
        dict[str, str],
        Meta(description="more headers, for example {X-Team: blue, X-Api-Key: secret://shop/api-key}"),
    ] = {}
    format: Annotated[Format, Meta(description="one of batch, array, ndjson, event")] = "batch"
    auth: Annotated[
        Auth | None,
        Meta(
            description="{type: bearer, token: secret://..}, "
            "{type: basic, username: .., password: secret://..} or "
            "{type: oauth2, token_url: .., client_id: .., client_secret: secret://..}"
        ),
    ] = None
    signing: Annotated[
        Signing | None, Meta(description="for example {keys: [secret://shop/webhook]}, of one to eight keys")
    ] = None


def _batch(options: Options, limits: Batch) -> Batch:
    return replace(limits, max_events=1) if options.format == "event" else limits


def _faults(options: Options) -> Iterator[OptionFault]:
    yield from _url_faults("$.url", options.url, _authoriser(options))
    if isinstance(options.auth, OAuth2):
        authoriser = "`credentials: header`" if options.auth.credentials == "header" else ""
        yield from _url_faults("$.auth.token_url", options.auth.token_url, authoriser)
    for name, value in options.headers.items():
        yield from _header_faults(name, value)
        if options.auth and name.lower() == "authorization":
            yield f"$.headers.{name}", "is set by `auth` too", "remove one of them"
        if options.signing and name.lower() in signing.HEADERS:
            yield f"$.headers.{name}", "is set by `signing`", "remove it"


def _authoriser(options: Options) -> str:
    """The option that makes each request's Authorization header; empty if there is none."""
    if options.auth:
        return "`auth`"
    return next((f"`headers.{name}`" for name in options.headers if name.lower() == "authorization"), "")


def _url_faults(path: str, text: str, authoriser: str) -> Iterator[OptionFault]:
    """Problems of a URL; the client sends nothing with a user in it beside an Authorization header."""
    try:
        url = urlsplit(text)
        usable = bool(url.hostname) and url.port != 0
    except ValueError as error:
        yield path, f"is not a URL: {error}", _URL_FIX
        return
    if not usable or re.search(r"[\s\x00-\x1f]", text):
        yield path, "is not a URL", _URL_FIX
    if url.password is not None:
        fix = "name it in `auth`: {type: basic, username: .., password: secret://..}"
        yield path, "holds a password", fix
    elif url.username and authoriser:
        yield path, f"holds a user beside {authoriser}", "leave it out of the URL"


def _header_faults(name: str, value: str) -> Iterator[OptionFault]:
    path = f"$.headers.{name}"
    if not _HEADER_NAME.fullmatch(name):
        yield path, "is not a valid HTTP header name", "use letters, digits and hyphens"
    elif name.lower() in _OWN_HEADERS:
        yield path, "is set by hifi itself", "leave it out"
    if value.startswith(SCHEME) and secret_name(value) is None:
        yield path, "is not the name of a secret", "write it like secret://shop/api-key"
    elif name.lower() in _AUTHORISING and not value.startswith(SCHEME):
        yield path, "is a secret", "name it: secret://shop/authorization, or use `auth`"
    elif not _HEADER_VALUE.fullmatch(value):
        yield path, "holds a line break or a character outside ASCII", "encode it"


def _hosts(options: Options) -> Iterator[OptionHost]:
    yield "$.url", urlsplit(options.url).hostname or ""
    if isinstance(options.auth, OAuth2):
        yield "$.auth.token_url", urlsplit(options.auth.token_url).hostname or ""


def _summary(options: Options) -> str:
    return options.url


SPEC: Final = ConnectorSpec(
    description="an HTTP endpoint: a POST per batch in one of four formats, signed and authorised if asked",
    options=Options,
    batch=_batch,
    faults=_faults,
    hosts=_hosts,
    summary=_summary,
)

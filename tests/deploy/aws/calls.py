"""The service and operation that a request means, in any protocol."""

import re
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from typing import Any
from urllib.parse import parse_qsl

from botocore.session import Session

# Names in signatures that differ from botocore's model names.
_MODELS = {"elasticloadbalancing": "elbv2", "monitoring": "cloudwatch"}


class UnknownCallError(Exception):
    """No operation of the service has this method and path."""


@dataclass(frozen=True, order=True)
class Call:
    """One request.

    Attributes:
        key: Access key that signed it.
        service: Service as the signature names it, such as `elasticloadbalancing`.
        operation: Operation as AWS names it, such as `CreateLoadBalancer`.
    """

    key: str
    service: str
    operation: str


def read_call(environ: Any) -> Call | None:
    """The call that a request makes, None without a signature; the body can still be read afterwards."""
    scope = _credential(environ.get("HTTP_AUTHORIZATION", ""))
    if len(scope) != 5:
        return None
    key, _, _, service, _ = scope
    return Call(key, service, _operation(service, environ))


def _credential(authorization: str) -> list[str]:
    """`Credential=key/date/region/service/aws4_request`, in parts."""
    return authorization.partition("Credential=")[2].partition(",")[0].split("/")


def _operation(service: str, environ: Any) -> str:
    target = environ.get("HTTP_X_AMZ_TARGET", "")
    if target:
        return str(target.rpartition(".")[2])
    path, _, query = str(environ["REQUEST_URI"]).partition("?")
    if "/operation/" in path:
        return path.rpartition("/")[2]
    return form(environ).get("Action") or _by_path(service, environ["REQUEST_METHOD"], path, query)


def form(environ: Any) -> dict[str, str]:
    """The fields of a request's form, none without a form; the body can still be read afterwards."""
    return dict(parse_qsl(_body(environ).decode("utf-8", "replace")))


def _body(environ: Any) -> bytes:
    if "form" not in environ.get("CONTENT_TYPE", ""):
        return b""
    read = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    environ["wsgi.input"] = BytesIO(read)
    body: bytes = read
    return body


def _by_path(service: str, method: str, path: str, query: str) -> str:
    given = {name for name, _ in parse_qsl(query, keep_blank_values=True)}
    found = [
        (len(wanted), name)
        for name, its_method, pattern, wanted in _routes(service)
        if its_method == method and wanted <= given and pattern.fullmatch(path)
    ]
    if not found:
        raise UnknownCallError(f"{service}: {method} {path}?{query} is no operation")
    return max(found)[1]  # the most parts of the query: `/{Bucket}?acl`, not `/{Bucket}`


@cache
def _routes(service: str) -> list[tuple[str, str, re.Pattern[str], frozenset[str]]]:
    """Name, method, path and required parts of the query of every operation."""
    model = Session().get_service_model(_MODELS.get(service, service))
    return [_route(name, model.operation_model(name).http) for name in model.operation_names]


def _route(name: str, http: Any) -> tuple[str, str, re.Pattern[str], frozenset[str]]:
    path, _, query = http["requestUri"].partition("?")
    pattern = re.sub(
        r"\\\{\w+(\\\+)?\\\}", lambda found: ".+" if found[1] else "[^/]+", re.escape(path.rstrip("/"))
    )
    required = frozenset(part.partition("=")[0] for part in query.split("&") if part)
    return name, http["method"], re.compile(f"{pattern}/?"), required

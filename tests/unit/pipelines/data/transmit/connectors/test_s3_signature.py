"""The signature of an object's URL, checked by AWS's rule for the canonical request.

https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html: S3 decodes a request's path
and encodes it anew, each character but A-Z a-z 0-9 - . _ ~ and the slash.
"""

import hashlib
import hmac
from urllib.parse import quote, unquote, urlsplit

import pytest

from pipelines.data.transmit.connectors.aws.client import Signer
from pipelines.data.transmit.connectors.aws.s3 import object_url
from pipelines.data.transmit.connectors.http.client import HttpRequest
from shared.connectors.s3 import Options

REGION, SECRET = "eu-west-1", "a-secret-of-forty-characters-in-a-test-0"


@pytest.mark.parametrize("prefix", ["", "raw/", "raw/source=hifi/day=1/", "a_b.c-d/"])
def test_s3_finds_the_signature_right_for_every_prefix_that_is_accepted(prefix: str) -> None:
    options = Options(
        bucket="acme",
        region=REGION,
        access_key_id="AKIAEXAMPLE",
        secret_access_key="secret://t/aws",
        prefix=prefix,
    )
    url = object_url(options, f"{prefix}t/p/2026/01/31/1205/ab.ndjson.gz")
    request = HttpRequest(method="PUT", url=url, headers={"Content-Type": "application/gzip"}, body=b"x")
    signed = Signer("s3", REGION, "AKIAEXAMPLE", SECRET).sign(request)
    assert _signature_of(signed) == _signature_by_s3(signed)
    assert unquote(urlsplit(url).path) == f"/{prefix}t/p/2026/01/31/1205/ab.ndjson.gz"


def _headers(request: HttpRequest) -> dict[str, str]:
    return {name.lower(): value.strip() for name, value in request.headers.items()}


def _signature_of(request: HttpRequest) -> str:
    return _headers(request)["authorization"].partition("Signature=")[2]


def _signature_by_s3(request: HttpRequest) -> str:
    parts, headers = urlsplit(request.url), _headers(request)
    headers["host"] = parts.netloc
    names = headers["authorization"].partition("SignedHeaders=")[2].partition(",")[0]
    path = quote(unquote(parts.path), safe="/-_.~")
    lines = [f"{name}:{headers[name]}" for name in names.split(";")]
    canonical = [request.method, path, parts.query, *lines, "", names, headers["x-amz-content-sha256"]]
    moment = headers["x-amz-date"]
    scope = f"{moment[:8]}/{REGION}/s3/aws4_request"
    digest = hashlib.sha256("\n".join(canonical).encode()).hexdigest()
    key = f"AWS4{SECRET}".encode()
    for part in scope.split("/"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    text = "\n".join(["AWS4-HMAC-SHA256", moment, scope, digest])
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()

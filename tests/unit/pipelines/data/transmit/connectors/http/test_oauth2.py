"""Requests to a token endpoint, and the responses that are accepted."""

import base64
from urllib.parse import parse_qs

import pytest

from pipelines.data.transmit.connectors.http.client import HttpResponse
from pipelines.data.transmit.connectors.http.oauth2 import TokenError, granted, request
from shared.connectors.http_auth import OAuth2

NOW = 1_000_000
AUTH = OAuth2(token_url="https://idp.example/token", client_id="a b", client_secret="secret://s", scope="x y")


def reply(body: bytes, status: int = 200) -> HttpResponse:
    return HttpResponse(status, {}, body)


def test_credentials_travel_in_the_header_form_encoded_first() -> None:
    form, headers = request(AUTH, "p:w%d")
    assert parse_qs(form.decode()) == {"grant_type": ["client_credentials"], "scope": ["x y"]}
    assert base64.b64decode(headers["Authorization"].removeprefix("Basic ")) == b"a+b:p%3Aw%25d"


def test_credentials_travel_in_the_body_where_the_server_wants_them_there() -> None:
    auth = OAuth2(
        token_url=AUTH.token_url,
        client_id="a b",
        client_secret="secret://s",
        audience="https://api",
        credentials="body",
    )
    form, headers = request(auth, "p&w")
    assert parse_qs(form.decode()) == {
        "grant_type": ["client_credentials"],
        "audience": ["https://api"],
        "client_id": ["a b"],
        "client_secret": ["p&w"],
    }
    assert "Authorization" not in headers


@pytest.mark.parametrize(
    ("expires", "renew_after", "end_after"),
    [
        (b"3600", 3_540_000, 3_600_000),
        (b'"3600"', 3_540_000, 3_600_000),
        (b"100", 90_000, 100_000),
        (b"1.5", 1_350, 1_500),
        (b"null", 270_000, 300_000),
        (b"0", 0, 0),
        (b"-5", 0, 0),
        (b'"nan"', 0, 0),
        (b"1e300", 999_999_940_000, 1_000_000_000_000),
    ],
)
def test_a_token_is_renewed_before_its_end(expires: bytes, renew_after: int, end_after: int) -> None:
    body = b'{"access_token":"t","token_type":"bearer","expires_in":%b,"more":1}' % expires
    token = granted(reply(body), NOW)
    assert (token.text, token.renew_ms - NOW, token.end_ms - NOW) == ("t", renew_after, end_after)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        b"null",
        b"\xff",
        b'{"access_token":7}',
        b'{"access_token":""}',
        b'{"access_token":"secret\\r\\nX: y"}',
        b'{"access_token":"secret\\u00e9"}',
        b'{"access_token":"' + b"secret" * 2_000 + b'"}',
        b'{"access_token":"secret","expires_in":"soon"}',
        b'{"access_token":"secret","token_type":"mac"}',
    ],
)
def test_an_answer_without_a_usable_token_says_so_and_quotes_nothing(body: bytes) -> None:
    with pytest.raises(TokenError) as caught:
        granted(reply(body), NOW)
    answer = caught.value.answer
    assert answer.error.startswith("token_unusable: `auth.token_url` gave ")
    assert (answer.later, answer.hopeless, "secret" in answer.error) == (True, False, False)


@pytest.mark.parametrize(
    ("status", "later"), [(400, True), (401, True), (301, True), (204, True), (500, False), (429, True)]
)
def test_a_refused_token_request_waits_and_a_failed_one_is_repeated(status: int, later: bool) -> None:
    with pytest.raises(TokenError) as caught:
        granted(reply(b'{"error":"echoed secret"}', status), NOW)
    assert caught.value.answer.later == later
    assert caught.value.answer.error == f"token_refused: `auth.token_url` answered {status}"

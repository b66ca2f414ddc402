"""A console that browsers reach by TLS: what it shows before a sign-in, and to whom."""

from collections.abc import Iterator
from urllib.parse import urlencode

import pytest

from tests.console.console_process import ConsoleProcess
from tests.console.documents import Office
from tests.harness.waiting import eventually

NOBODY = 9
"""A port on which nothing listens: observe is away, which a page says by itself."""


@pytest.fixture
def console(office: Office, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleProcess]:
    log = tmp_path_factory.mktemp("public") / "console.log"
    process = ConsoleProcess(
        f"http://127.0.0.1:{NOBODY}", log, api=office.api.url, public_url="https://console.example.com"
    )
    eventually(process.ready)
    yield process
    assert process.stop() == 0


def signed_in(console: ConsoleProcess, token: str) -> dict[str, str]:
    """The headers of a browser that has signed in."""
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = console.request("POST", "/sign-in", urlencode({"token": token}), form)
    cookie = answer.headers["set-cookie"]
    assert "Secure" in cookie
    return {"Cookie": cookie.partition(";")[0]}


def test_the_meter_of_all_tenants_is_for_operators_only(console: ConsoleProcess, office: Office) -> None:
    for who in ({}, signed_in(console, office.api.token("acme", "owner"))):
        answer = console.request("GET", "/", headers=who)
        assert (answer.status, answer.headers["location"]) == (303, "/documents")
    assert console.request("GET", "/", headers=signed_in(console, office.api.operator)).status == 200

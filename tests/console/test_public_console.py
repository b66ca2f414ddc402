"""A console that browsers reach by TLS: what it shows before a sign-in, and to whom."""

from urllib.parse import urlencode

from tests.console.conftest import UNUSED_PORT, StartConsole
from tests.console.console_process import ConsoleProcess
from tests.contract.management.api_process import ApiProcess


def signed_in(console: ConsoleProcess, token: str) -> dict[str, str]:
    """The headers of a browser that has signed in."""
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = console.request("POST", "/sign-in", urlencode({"token": token}), form)
    cookie = answer.headers["set-cookie"]
    assert "Secure" in cookie
    return {"Cookie": cookie.partition(";")[0]}


def test_the_meter_of_all_tenants_is_for_operators_only(start_console: StartConsole, api: ApiProcess) -> None:
    console = start_console(UNUSED_PORT, api=api.url, public_url="https://console.example.com")
    for who in ({}, signed_in(console, api.token("acme", "owner"))):
        answer = console.request("GET", "/", headers=who)
        assert (answer.status, answer.headers["location"]) == (303, "/documents")
    assert console.request("GET", "/", headers=signed_in(console, api.operator)).status == 200

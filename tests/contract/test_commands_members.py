"""`hifi members`, `invite`, and `login` by an invitation and by an issuer, against a real management API."""

import sys
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from uuid import uuid4

import msgspec
import pytest

from tests.contract.management.api_process import ApiProcess
from tests.harness.command_line import Hifi
from tests.harness.http_server import QuietHandler, http_served
from tests.harness.oidc_provider import CLIENT, OidcProvider
from tests.harness.waiting import free_port

BROWSER = """
import sys, httpx
address = sys.argv[1]
assert httpx.get(address).status_code == 200
back = httpx.post(address, data={"yes": "1"}).headers["location"]
origin = back.partition("?")[0]
assert httpx.get(f"{origin}?code=stolen&state=another").status_code == 200
assert httpx.get(back).status_code == 200
"""


@pytest.fixture
def tenant() -> str:
    return f"t{uuid4().hex[:8]}"


def command(api: ApiProcess, folder: Path, token: str = "", **more: str) -> Hifi:
    """The command with its own file of contexts, and optionally a server's token."""
    there = {"HIFI_SERVER": api.url, "HIFI_TOKEN": token} if token else {}
    return Hifi(None, {"HIFI_CONTEXTS": str(folder / "contexts.yaml")} | there | more)


def test_an_invited_person_signs_in_with_the_invitation_and_is_listed_changed_and_removed(
    api: ApiProcess, tmp_path: Path, tenant: str
) -> None:
    operator, ann = command(api, tmp_path, api.operator), command(api, tmp_path)
    made = operator.run("invite", "--role", "owner", "--label", "Ann", "--tenant", tenant)
    assert f"owner of {tenant}" in made.stderr
    done = ann.run("login", api.url, "--context", "shop", stdin=made.stdout)
    assert f"signed in as owner of tenant {tenant}" in done.stdout, done.stderr
    link = ann.run("invite", "--role", "viewer", "--label", "Bob", "--console", "https://c.example/")
    assert link.stdout.startswith("https://c.example/invitation#hifi_invite_"), link.stderr
    found = ann.json("members", "list")
    assert [each["label"] for each in found["members"] + found["invitations"]] == ["Ann", "Bob"]
    refused = ann.run("members", "role", "Ann", "--role", "viewer")
    assert (refused.returncode, "last owner" in refused.stderr) == (1, True)
    assert "not clear which tenant is meant; add --tenant" in operator.run("members", "list").stderr
    added = ann.run("tokens", "add", "--role", "viewer", "--label", "ci")
    token = api.ask("GET", f"/v1/tenants/{tenant}/tokens").json["items"][0]
    assert "Ann (" in ann.run("tokens", "list").stdout, added.stderr
    removed = operator.run("members", "remove", "Ann", "--tenant", tenant)
    assert (removed.returncode, f"hifi tokens revoke {token['id']}" in removed.stderr) == (0, True)
    assert "does not know the token" in ann.run("get").stderr
    again = ann.run("login", api.url, stdin=made.stdout)
    assert (again.returncode, "used or expired" in again.stderr) == (1, True)


class Redeems(QuietHandler, BaseHTTPRequestHandler):
    """Redeems any invitation, and fails otherwise."""

    def do_POST(self) -> None:
        self.respond(201, b'{"token": "hifi_personal"}')

    def do_GET(self) -> None:
        self.respond(503, b"{}")


def test_a_personal_token_is_kept_though_the_server_answers_nothing_more(tmp_path: Path) -> None:
    contexts = tmp_path / "contexts.yaml"
    with http_served(Redeems) as url:
        hifi = Hifi(None, {"HIFI_CONTEXTS": str(contexts)})
        done = hifi.run("login", url, "--context", "shop", stdin="hifi_invite_x")
    assert (done.returncode, "answers 503" in done.stderr) == (1, True), done.stderr
    kept = msgspec.yaml.decode(contexts.read_bytes())["contexts"]["shop"]
    assert kept["token"] == "hifi_personal"


@pytest.mark.proof
def test_a_person_signs_in_with_a_browser_and_the_token_is_renewed(
    dynamodb_local: str, tmp_path: Path, tenant: str
) -> None:
    port, script = free_port(), tmp_path / "browser.py"
    script.write_text(BROWSER)
    provider = OidcProvider(redirect=f"http://127.0.0.1:{port}/callback", public=True, seconds=20)
    api = ApiProcess(tmp_path, dynamodb_local, oidc_issuer=provider.issuer, oidc_audience=CLIENT)
    try:
        hifi = command(api, tmp_path, BROWSER=f"{sys.executable} {script} %s")
        client = ("--issuer", provider.issuer, "--client-id", CLIENT, "--port", str(port))
        done = hifi.run("login", api.url, *client, "--context", "shop")
        assert "signed in as ann@example.com, a member of no tenant yet" in done.stdout, done.stderr
        for name in (tenant, f"{tenant}-b"):
            asked = {"role": "editor", "label": "Ann"}
            text = api.ask("POST", f"/v1/tenants/{name}/invitations", asked).json["invitation"]
            body = {"invitation": text}
            assert api.ask("POST", "/v1/invitations/redeem", body, token=provider.token()).status == 200
            put = api.ask("PUT", f"/v1/tenants/{name}/sources/{name}", {}, {"If-Match": "*"})
            assert put.status == 201, put.text
        before = provider.renewed
        listed = hifi.run("get").stdout
        assert all(name in listed for name in (tenant, f"{tenant}-b")), listed
        assert provider.renewed > before
        contexts = tmp_path / "contexts.yaml"
        kept = msgspec.yaml.decode(contexts.read_bytes())["contexts"]["shop"]
        assert kept["sign_in"]["issuer"] == provider.issuer and contexts.stat().st_mode & 0o777 == 0o600
        provider.end_sessions()
        ended = hifi.run("get")
        assert (ended.returncode, "the sign-in has ended" in ended.stderr) == (1, True)
    finally:
        api.kill()
        provider.close()

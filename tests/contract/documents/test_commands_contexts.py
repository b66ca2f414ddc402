"""`hifi login`, `context` and `keys` as a user runs them, against a real management API."""

import re
from pathlib import Path
from uuid import uuid4

import pytest

from scripts.documents import side_documents
from scripts.documents.topic import read_catalogue
from shared.contracts.documents import key_digest
from tests.contract.documents.test_commands_documents import words
from tests.harness.command_line import Hifi


@pytest.fixture
def tenant() -> str:
    return f"t{uuid4().hex[:8]}"


def source(tenant: str) -> str:
    return f"{{kind: source, name: {tenant}, tenant: {tenant}}}"


@pytest.fixture
def remote(tmp_path: Path) -> Hifi:
    """The command without a server in its environment, and with a file of contexts of its own."""
    return Hifi(None, {"HIFI_CONTEXTS": str(tmp_path / "contexts.yaml")})


def token(hifi: Hifi, tenant: str, role: str) -> str:
    done = hifi.run("tokens", "add", "--role", role, "--label", "ann", "--tenant", tenant)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_customer_signs_in_and_sees_only_the_own_documents(hifi: Hifi, remote: Hifi, tenant: str) -> None:
    other = f"{tenant}-other"
    for each in (tenant, other):
        assert hifi.run("apply", "-", stdin=source(each)).returncode == 0
    server = hifi.environment["HIFI_SERVER"]
    done = remote.run("login", server, "--context", "shop", stdin=token(hifi, tenant, "editor"))
    assert f"signed in as editor of tenant {tenant}" in done.stdout, done.stderr
    assert [row[:2] for row in words(remote.run("get"))] == [["source", tenant]]
    refused = remote.run("apply", "-", stdin=source(other))
    assert (refused.returncode, "not found" in refused.stderr) == (1, True)
    assert words(remote.run("history", f"source/{tenant}"))[0][0] == "1"
    assert ["*", "shop", server] in [row[:3] for row in words(remote.run("context", "list"))]
    assert remote.run("context", "use", "local").returncode == 0
    assert ["*", "local"] in [row[:2] for row in words(remote.run("context", "list"))]
    assert remote.run("context", "remove", "shop").returncode == 0
    assert "there is no context 'shop'" in remote.run("get", "--server", "shop").stderr


def test_a_token_that_was_revoked_does_nothing_any_more(hifi: Hifi, tenant: str) -> None:
    text = token(hifi, tenant, "owner")
    theirs = Hifi(None, hifi.environment | {"HIFI_TOKEN": text})
    (listed,) = theirs.json("tokens", "list")
    assert (listed["label"], listed["last_four"]) == ("ann", text[-4:])
    assert "add --tenant" in hifi.run("tokens", "add", "--role", "viewer", "--label", "x").stderr
    assert theirs.run("tokens", "revoke", listed["id"]).returncode == 0
    assert "does not know the token" in theirs.run("get").stderr


def test_a_token_that_is_not_known_is_not_kept(hifi: Hifi, remote: Hifi) -> None:
    done = remote.run("login", hifi.environment["HIFI_SERVER"], stdin="hifi_wrong")
    assert (done.returncode, "does not know the token" in done.stderr) == (1, True)
    assert len(words(remote.run("context", "list"))) == 1


def test_a_token_is_not_sent_in_the_clear(remote: Hifi) -> None:
    done = remote.run("login", "http://api.example.com", stdin="hifi_x")
    assert (done.returncode, "must not travel in the clear; use https://" in done.stderr) == (1, True)


def published_keys(hifi: Hifi, tenant: str) -> set[str]:
    """Digests of a source's write keys on the topic that nodes read."""
    return set(read_catalogue(hifi.environment["HIFI_BOOTSTRAP"]).sources[tenant, tenant].write_keys)


def test_keys_are_made_listed_and_removed_and_outlive_an_apply_that_does_not_name_them(
    hifi: Hifi, tenant: str
) -> None:
    made = hifi.run("apply", "-", stdin=source(tenant))
    assert "shown only now: wk_" in made.stderr
    first = made.stderr.split()[-1]
    second = hifi.run("keys", "add", tenant, "--label", "new").stdout.strip()
    assert published_keys(hifi, tenant) == {key_digest(first), key_digest(second)}
    assert hifi.run("apply", "-", stdin=source(tenant)).stdout.split()[-1] == "unchanged"
    listed = hifi.json("keys", "list", tenant)
    assert {each["last_four"] for each in listed} == {first[-4:], second[-4:]}
    old = next(each["id"] for each in listed if each["last_four"] == first[-4:])
    assert hifi.run("keys", "remove", tenant, old).returncode == 0
    assert published_keys(hifi, tenant) == {key_digest(second)}
    last = hifi.json("keys", "list", tenant)
    assert [each["label"] for each in last] == ["new"]
    refused = hifi.run("keys", "remove", tenant, last[0]["id"])
    assert (refused.returncode, "last key" in refused.stderr) == (1, True)


def test_a_key_is_shown_although_apply_ends_before_its_source_is_published(
    hifi: Hifi, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt  # as after Ctrl-C

    with monkeypatch.context() as waiting:
        waiting.setattr(side_documents, "unpublished", interrupted)
        ended = hifi.run("apply", "-", stdin=source(tenant))
    assert ended.returncode != 0
    (key,) = re.findall(r"shown only now: (wk_\S+)", ended.stderr)
    (listed,) = hifi.json("keys", "list", tenant)
    assert listed["last_four"] == key[-4:]

"""`hifi diff`, `history` and `revert` as a user runs them, with a table, a provisioner and real brokers."""

from uuid import uuid4

import pytest
import yaml

from tests.contract.documents.test_commands_documents import words
from tests.harness.command_line import Hifi


@pytest.fixture
def name() -> str:
    """A name of the test's own: the topic keeps its documents from test to test."""
    return f"d{uuid4().hex[:8]}"


def destination(name: str, path: str) -> str:
    options = {"url": f"http://127.0.0.1:9/{path}"}
    return yaml.safe_dump({"kind": "destination", "name": name, "tenant": "acme", "options": options})


def test_every_version_is_kept_and_one_that_was_deleted_comes_back(hifi: Hifi, name: str) -> None:
    for path in ("one", "two"):
        assert hifi.run("apply", "-", stdin=destination(name, path)).returncode == 0
    assert hifi.run("delete", "destination", name).returncode == 0

    rows = words(hifi.run("history", f"destination/{name}"))
    assert [row[0] for row in rows] == ["3", "2", "1"]
    assert rows[0][4] == "deleted"
    assert rows[2][5] == "http://127.0.0.1:9/one"
    assert {row[2] for row in rows} == {"operator"}
    whole = hifi.json("history", f"destination/{name}")
    assert [each["document"] and each["document"]["options"]["url"] for each in whole] == [
        None,
        "http://127.0.0.1:9/two",
        "http://127.0.0.1:9/one",
    ]

    reverted = hifi.run("revert", f"destination/{name}", "--to", "1")
    assert words(reverted) == [["destination", name, "4", "created"]]
    shown = yaml.safe_load(hifi.run("get", "destination", name).stdout)
    assert shown["options"]["url"] == "http://127.0.0.1:9/one"
    deletion = hifi.run("revert", f"destination/{name}", "--to", "3")
    assert (deletion.returncode, "is its deletion" in deletion.stderr) == (1, True)
    never = hifi.run("history", f"pipe/{name}")
    assert (never.returncode, f"there never was a pipe/{name}" in never.stderr) == (1, True)
    unknown = hifi.run("revert", f"destination/{name}", "--to", "9")
    assert (unknown.returncode, "has no version 9: it has 1 to 4" in unknown.stderr) == (1, True)


@pytest.mark.proof
def test_a_version_that_contradicts_what_is_there_now_does_not_come_back(hifi: Hifi, name: str) -> None:
    both = {"name": name, "tenant": "acme"}
    source = {"kind": "source", **both, "write_keys": [f"a-key-of-{name}"]}
    pipe = {"kind": "pipe", **both, "source": name, "destination": name}
    documents = destination(name, "x") + "---\n" + yaml.safe_dump_all([source, pipe])
    assert hifi.run("apply", "-", stdin=documents).returncode == 0
    for kind in ("pipe", "destination"):
        assert hifi.run("delete", kind, name).returncode == 0
    refused = hifi.run("revert", f"pipe/{name}", "--to", "1")
    assert refused.returncode == 1
    assert f"pipe/{name} version 1:6: $.destination: there is no destination '{name}'" in refused.stderr
    assert hifi.json("history", f"pipe/{name}")[0]["version"] == 2


def test_a_diff_shows_what_apply_would_change_and_writes_nothing(hifi: Hifi, name: str) -> None:
    before, after = destination(name, "one"), destination(name, "two")
    new = hifi.run("diff", "-", stdin=before)
    assert new.returncode == 1
    assert f"+name: {name}" in new.stdout.splitlines()
    assert hifi.run("apply", "-", stdin=before).returncode == 0
    assert (done := hifi.run("diff", "-", stdin=before)).returncode == 0, done.stdout
    changed = hifi.run("diff", "-", stdin=after)
    assert changed.returncode == 1
    assert [line for line in changed.stdout.splitlines() if line[0] in "+-"] == [
        f"--- destination/{name} version 1",
        f"+++ destination/{name} version 2",
        "-  url: http://127.0.0.1:9/one",
        "+  url: http://127.0.0.1:9/two",
    ]
    assert len(hifi.json("history", f"destination/{name}")) == 1

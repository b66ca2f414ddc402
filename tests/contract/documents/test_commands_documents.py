"""`hifi apply`, `get` and `delete` as a user runs them, with a table, a provisioner and real brokers."""

import json
from pathlib import Path

import yaml

from shared.contracts.documents import CANARY, Source, sealed
from shared.dynamodb.document_table import DocumentTable
from tests.contract.management.api_process import running_api
from tests.harness.command_line import Done, Hifi, HifiProcess
from tests.harness.document_changes import change_of
from tests.harness.topics import Topics

DOCUMENTS = """\
kind: source
name: orders
tenant: acme
write_keys: [orders-write-key]
---
kind: destination
name: orders
tenant: acme
options:
  url: http://127.0.0.1:9/
---
kind: pipe
name: orders
tenant: acme
source: orders
destination: orders
"""


def words(done: Done) -> list[list[str]]:
    assert done.returncode == 0, done.stderr
    return [line.split() for line in done.stdout.splitlines()[1:]]


def test_documents_are_applied_shown_changed_and_deleted(hifi: Hifi) -> None:
    kinds = ["source", "destination", "pipe"]
    assert words(HifiProcess(None, hifi.environment).run("apply", "-", stdin=DOCUMENTS)) == [
        [kind, "orders", "1", "created"] for kind in kinds
    ]
    assert words(hifi.run("apply", "-", stdin=DOCUMENTS)) == [
        [kind, "orders", "1", "unchanged"] for kind in kinds
    ]
    assert words(hifi.run("apply", "-", stdin=DOCUMENTS + "sample: 50\n"))[2] == [
        "pipe",
        "orders",
        "2",
        "changed",
    ]

    shown = hifi.run("get", "pipe", "orders")
    assert yaml.safe_load(shown.stdout)["sample"] == 50
    listed = json.loads(hifi.run("get", "-o", "json").stdout)
    assert {item["document"]["kind"] for item in listed} == set(kinds)
    assert "orders-write-key" not in json.dumps(listed)

    refused = hifi.run("delete", "destination", "orders")
    assert refused.returncode == 1
    assert "used by pipe orders" in refused.stderr
    assert words(hifi.run("delete", "destination", "orders", "--with-pipes")) == [
        ["destination", "orders", "deleted"]
    ]
    assert hifi.run("delete", "source", "orders").returncode == 0
    assert hifi.run("get", "pipe", "orders").returncode == 1


def test_where_two_tenants_have_a_name_a_command_asks_whose_is_meant(hifi: Hifi) -> None:
    sink = {"kind": "destination", "name": "twin", "options": {"url": "http://127.0.0.1:9/"}}
    both = yaml.safe_dump_all([sink | {"tenant": tenant} for tenant in ("acme", "zoo")])
    assert words(hifi.run("apply", "-", stdin=both)) == [["destination", "twin", "1", "created"]] * 2
    asked = hifi.run("delete", "destination", "twin")
    assert (asked.returncode, "acme, zoo" in asked.stderr, "--tenant" in asked.stderr) == (1, True, True)
    assert hifi.run("delete", "destination", "twin", "--tenant", "zoo").returncode == 0
    assert yaml.safe_load(hifi.run("get", "destination", "twin").stdout)["tenant"] == "acme"
    assert hifi.run("delete", "destination", "twin").returncode == 0, "only one is left"


def test_nothing_is_published_when_one_document_is_wrong(hifi: Hifi, tmp_path: Path) -> None:
    file = tmp_path / "wrong.yaml"
    file.write_text(DOCUMENTS.replace("orders", "wrong") + "sampel: 3\n")
    done = hifi.run("apply", str(file))
    assert done.returncode == 1
    assert f"{file}:17: $.sampel: a pipe has no field 'sampel'; did you mean 'sample'?" in done.stderr
    assert hifi.run("get", "source", "wrong").returncode == 1


SHARED = """\
kind: source
name: left
tenant: twokeys
write_keys: [shared-write-key]
rate_limit: 5
---
kind: source
name: right
tenant: twokeys
write_keys: [shared-write-key]
rate_limit: 5
"""


def test_sources_that_share_a_key_since_an_older_version_can_be_applied(
    hifi: Hifi, management: dict[str, str]
) -> None:
    table = DocumentTable(management["HIFI_DOCUMENTS_TABLE"], management["HIFI_DOCUMENTS_ENDPOINT"])
    both = [
        Source(name=name, tenant="twokeys", write_keys=["shared-write-key"]) for name in ("left", "right")
    ]
    table.write("twokeys", [change_of(sealed(each)) for each in both], by="before", at_ms=1)  # unverified
    assert words(hifi.run("apply", "-", stdin=SHARED)) == [
        ["source", name, "2", "changed"] for name in ("left", "right")
    ]


def test_a_key_of_two_new_sources_is_refused_at_both(hifi: Hifi) -> None:
    done = hifi.run("apply", "-", stdin=SHARED.replace("twokeys", "newkeys"))
    assert done.returncode != 0
    said = [
        line
        for line in done.stderr.splitlines()
        if "sources left and right" in line or "right and left" in line
    ]
    assert [line.split(" ")[0] for line in said] == ["<stdin>:4:", "<stdin>:10:"]


def test_a_destination_on_loopback_is_only_for_a_side_that_allows_it(
    dynamodb_local: str, tmp_path: Path
) -> None:
    file = tmp_path / "inner.yaml"
    file.write_text(DOCUMENTS.replace("orders", "inner"))
    with running_api(tmp_path, dynamodb_local, allow_loopback="false") as api:
        hifi = Hifi(None, {"HIFI_SERVER": api.url, "HIFI_TOKEN": api.operator})
        done = hifi.run("apply", str(file))
        assert done.returncode == 1
        assert f"{file}:10: $.options.url: leads to a loopback address; give a public address" in done.stderr
        assert "HIFI_ALLOW_LOOPBACK=true" in done.stderr
        assert hifi.run("get", "source", "inner").returncode == 1


def test_a_server_that_does_not_answer_is_named(tmp_path: Path) -> None:
    settings = {"HIFI_SERVER": "http://127.0.0.1:9", "HIFI_TOKEN": "any"}
    done = Hifi(tmp_path, settings).run("get")
    assert done.returncode == 1
    assert "the management API at http://127.0.0.1:9 does not answer" in done.stderr


def test_a_command_that_is_not_understood_is_a_usage_error(tmp_path: Path) -> None:
    assert Hifi(tmp_path, {}).run("get", "pipes").returncode == 2


def test_hifis_own_documents_are_listed_only_when_asked_for(hifi: Hifi) -> None:
    own = Source(name="own", tenant=CANARY, write_keys=["an-own-write-key"])
    Topics(hifi.environment["HIFI_BOOTSTRAP"]).publish(sealed(own))
    assert ["source", "own"] not in [line[:2] for line in words(hifi.run("get"))]
    assert "own" not in [
        item["document"]["name"] for item in json.loads(hifi.run("get", "-o", "json").stdout)
    ]
    assert ["source", "own"] in [line[:2] for line in words(hifi.run("get", "--all"))]
    assert yaml.safe_load(hifi.run("get", "source", "own", "--all").stdout)["tenant"] == CANARY


def test_a_document_of_hifis_own_tenants_is_refused(hifi: Hifi) -> None:
    own = {"kind": "source", "name": "own", "tenant": CANARY, "write_keys": ["an-own-write-key"]}
    done = hifi.run("apply", "-", stdin=yaml.safe_dump(own))
    assert done.returncode == 1
    assert "$.tenant: 'canary' is hifi itself; choose another tenant" in done.stderr

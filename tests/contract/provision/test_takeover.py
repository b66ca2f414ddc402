"""`hifi` and the provisioner take over a local side that is older than the table, as it is."""

from collections.abc import Sequence
from pathlib import Path
from uuid import uuid4

import pytest
import yaml

from shared.contracts.completeness import COMPLETE_KEY
from shared.contracts.document_items import DOCUMENTS_TABLE, DocumentKey
from shared.contracts.documents import (
    CANARY,
    Destination,
    Document,
    Entry,
    Pipe,
    Source,
    encode_entry,
    key_digest,
    kind_of,
    sealed,
)
from shared.contracts.publish_plan import document_key
from shared.contracts.side_weights import LOCAL
from shared.contracts.topics import Topic, topic_specs
from shared.dynamodb.document_table import DocumentTable
from shared.kafka.admin import admin_client, ensure_topics
from shared.kafka.config_topic import config_table
from tests.contract.managed import managed
from tests.harness.command_line import Hifi
from tests.harness.provision_process import ProvisionProcess, provisioned
from tests.harness.topics import Topics
from tests.harness.waiting import eventually

MANY = 40
VERSION = 3


def published_before(topics: Topics, tenant: str) -> list[Document]:
    """A source, a pipe and many destinations, as an older version's `hifi apply` published them."""
    source = Source(name=tenant, tenant=tenant, write_keys=[f"write-key-of-{tenant}"])
    pipe = Pipe(name=tenant, tenant=tenant, source=tenant, destination=f"{tenant}-0")
    options = {"url": "http://127.0.0.1:9/"}
    many = [Destination(name=f"{tenant}-{n}", tenant=tenant, options=options) for n in range(MANY)]
    documents = [sealed(source), pipe, *many]
    for each in documents:
        value = encode_entry(Entry(version=VERSION, document=each))
        topics.put(Topic.CONFIG, value, [], document_key(each).partition(b"/")[2])  # a key without tenant
    topics.flush()
    return documents


def is_moved(topics: Topics, documents: Sequence[Document]) -> bool:
    """Whether the topic has each document under its present key only, at its version."""
    newest = {each.key() or b"": each.value() for each in topics.all_of(Topic.CONFIG)}
    value = {document_key(each): encode_entry(Entry(version=VERSION, document=each)) for each in documents}
    return all(newest.get(key) == value[key] and newest.get(key.partition(b"/")[2]) is None for key in value)


@pytest.mark.proof
def test_the_commands_go_on_from_what_an_older_version_published(
    topics: str, dynamodb_local: str, tmp_path: Path
) -> None:
    tenant = f"t{uuid4().hex[:8]}"
    topic = Topics(topics)
    documents = published_before(topic, tenant)
    with managed(topics, dynamodb_local, tmp_path) as settings:
        hifi = Hifi(tmp_path, settings)
        eventually(lambda: is_moved(topic, documents), 60, "the documents are under their present keys")
        before = len(topic.all_of(Topic.CONFIG))
        shown = hifi.run("get", "pipe", tenant)
        assert shown.stdout.startswith(f"# version {VERSION}\n"), shown.stderr
        assert hifi.json("history", f"pipe/{tenant}")[0]["by"] == "import"
        assert hifi.run("apply", "-", stdin=shown.stdout).returncode == 0
        assert len(topic.all_of(Topic.CONFIG)) == before, "nodes saw no change"
        changed = hifi.run("apply", "-", stdin=yaml.safe_dump(yaml.safe_load(shown.stdout) | {"sample": 50}))
        assert changed.stdout.split()[-3:] == [tenant, str(VERSION + 1), "changed"]
        assert len(topic.all_of(Topic.CONFIG)) == before + 1
        assert hifi.run("revert", f"pipe/{tenant}", "--to", str(VERSION)).returncode == 0


@pytest.mark.proof
def test_a_topic_that_was_deleted_and_made_again_has_everything_again_before_a_node_is_ready(
    topics: str, dynamodb_local: str, tmp_path: Path
) -> None:
    tenant = f"t{uuid4().hex[:8]}"
    topic, settings = Topics(topics), (topics, dynamodb_local, f"{DOCUMENTS_TABLE}-{tenant}")
    wanted = {document_key(each) for each in published_before(topic, tenant)}
    table = DocumentTable(settings[2], dynamodb_local)
    provisioner = ProvisionProcess(*settings, tmp_path / "provision.log")
    try:
        eventually(provisioner.ready, 60, "the documents are in the table")
        assert table.is_adopted(LOCAL)
        provisioner.kill()
        made_anew(topics)
        topic.publish(Source(name=CANARY, tenant=CANARY, write_keys=[key_digest("canary")]))
        node = config_table(topics, "test-node")
        try:
            eventually(lambda: node.view.sources, 60, "the node has what was published since")
            assert not node.loaded, "a node was ready without the customers' documents"
            provisioner.restart()
            assert node.wait(60)
            assert wanted <= node.view.entries.keys()
        finally:
            node.stop()
    finally:
        provisioner.kill()


@pytest.mark.proof
def test_a_topic_that_is_emptied_under_a_running_provisioner_is_filled_again(
    topics: str, dynamodb_local: str, tmp_path: Path
) -> None:
    tenant = f"t{uuid4().hex[:8]}"
    topic = Topics(topics)
    wanted = {document_key(each) for each in published_before(topic, tenant)} | {COMPLETE_KEY}
    with provisioned(topics, dynamodb_local, tmp_path):
        admin = admin_client(topics)  # kept until it has answered
        admin.delete_topics([Topic.CONFIG])[Topic.CONFIG].result(30)
        log = tmp_path / "provision.log"
        eventually(lambda: "topic is gone" in log.read_text(), 60, "the provisioner noticed")
        ensure_topics(topics, topic_specs(2))
        eventually(lambda: wanted <= {each.key() for each in topic.all_of(Topic.CONFIG)}, 60, every=1)


def made_anew(bootstrap: str) -> None:
    """Delete the topic, wait until it is gone, and recreate it."""
    admin = admin_client(bootstrap)
    admin.delete_topics([Topic.CONFIG])[Topic.CONFIG].result(30)
    eventually(lambda: Topic.CONFIG not in admin.list_topics(timeout=10).topics, 60, "it is gone")
    ensure_topics(bootstrap, topic_specs(2))


@pytest.mark.proof
def test_a_takeover_that_is_killed_halfway_is_finished_by_the_next_provisioner(
    topics: str, dynamodb_local: str, tmp_path: Path
) -> None:
    tenant = f"t{uuid4().hex[:8]}"
    topic = Topics(topics)
    documents = published_before(topic, tenant)
    name = f"{DOCUMENTS_TABLE}-{tenant}"
    table = DocumentTable(name, dynamodb_local)
    table.ensure()
    first = ProvisionProcess(topics, dynamodb_local, name, tmp_path / "first.log")
    eventually(lambda: table.documents(tenant), 60, "the first has begun", every=0.01)
    first.kill()
    assert not table.is_adopted(LOCAL)
    second = ProvisionProcess(topics, dynamodb_local, name, tmp_path / "second.log")
    try:
        eventually(lambda: table.is_adopted(LOCAL), 60, "the second has finished")
        eventually(second.leads, 60, "its first look is done")
        found = {(each.tenant, each.key): (each.version, each.document) for each in table.documents(tenant)}
        assert found == {
            (each.tenant, DocumentKey(kind_of(each), each.name)): (VERSION, each) for each in documents
        }
        eventually(lambda: is_moved(topic, documents), 60)
    finally:
        second.kill()

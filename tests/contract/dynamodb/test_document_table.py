"""The document table, in moto and DynamoDB Local: writes are never lost, and every version is kept."""

import threading
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from shared.contracts.document_items import (
    ABSENT,
    MOST_CHANGES,
    Change,
    DocumentKey,
    StoredDocument,
    TooManyChangesError,
    VersionConflictError,
    WriteKeyTakenError,
)
from shared.contracts.documents import Destination, Source
from shared.dynamodb.client import StoreError, dynamodb_client
from shared.dynamodb.document_table import DocumentTable
from tests.harness.document_changes import change_of

TENANTS = ("acme", "zoo")
NAMES = ("a", "a.b", "b")


def destination(name: str, timeout: float = 5.0, tenant: str = "acme") -> Destination:
    return Destination(name=name, tenant=tenant, timeout_seconds=timeout)


def key(name: str) -> DocumentKey:
    return DocumentKey("destination", name)


def put(table: DocumentTable, *names: str, timeout: float = 5.0) -> list[StoredDocument]:
    changes = [change_of(destination(name, timeout)) for name in names]
    return table.write("acme", changes, by="ann", at_ms=1)


def test_a_deletion_is_a_version_and_the_next_creation_goes_on_from_it(table: DocumentTable) -> None:
    put(table, "a")
    table.write("acme", [Change(key=key("a"), document=None)], by="bob", at_ms=2)
    put(table, "a", timeout=7)
    versions = table.history("acme", key("a"))
    assert [(each.version, each.by, each.document is None) for each in versions] == [
        (3, "ann", False),
        (2, "bob", True),
        (1, "ann", False),
    ]
    assert table.get("acme", key("a")) == versions[0]
    assert table.catalogues() == {"acme": 3}


def test_a_document_that_cannot_be_understood_is_named_and_never_left_out(table: DocumentTable) -> None:
    """If it were left out, it would be deleted from the topic, and with it all events to it."""
    put(table, "a")
    put(table, "from-a-newer-hifi", timeout=10_000)
    with pytest.raises(StoreError, match="destination/from-a-newer-hifi version 1 of tenant acme cannot be"):
        table.documents("acme")


def test_a_write_that_changes_nothing_adds_no_version(table: DocumentTable) -> None:
    put(table, "a")
    assert put(table, "a") == []
    assert table.write("acme", [Change(key=key("b"), document=None)], by="ann", at_ms=1) == []
    assert table.catalogues() == {"acme": 1}


@pytest.mark.parametrize("expected", [ABSENT, 2])
def test_a_writer_that_saw_another_version_changes_nothing_of_its_bundle(
    table: DocumentTable, expected: int
) -> None:
    put(table, "a")
    changes = [change_of(destination("b")), change_of(destination("a", 9), expected)]
    with pytest.raises(VersionConflictError) as refused:
        table.write("acme", changes, by="ann", at_ms=1)
    assert (refused.value.key, refused.value.found) == (key("a"), 1)
    assert [each.key for each in table.documents("acme")] == [key("a")]


def test_keys_that_the_table_does_not_tell_apart_are_read_together(table: DocumentTable) -> None:
    put(table, "a")
    alike = [DocumentKey("destination/a", "b"), DocumentKey("destination", "a/b")]
    assert set(table.current("acme", [*alike, key("a"), key("a")])) == {key("a")}


def test_two_tenants_documents_of_one_name_have_versions_of_their_own(table: DocumentTable) -> None:
    put(table, "a")
    (other,) = table.write("zoo", [change_of(destination("a", 8, "zoo"))], by="zed", at_ms=1)
    assert other.version == 1, "nothing says that acme has one"
    table.write("acme", [Change(key=key("a"), document=None)], by="ann", at_ms=1)
    assert [each.version for each in table.history("acme", key("a"))] == [2, 1]
    assert table.history("zoo", key("a")) == [other]


def test_what_an_older_version_reserved_a_name_with_means_nothing(table: DocumentTable, url: str) -> None:
    reserved = {"tenant": {"S": "names#"}, "document": {"S": "destination/a"}, "holder": {"S": "acme"}}
    dynamodb_client(url).put_item(TableName=table._table, Item=reserved)
    change = [change_of(destination("a", 8, "zoo"))]
    assert table.plan("zoo", change, by="zed", at_ms=1) == table.write("zoo", change, by="zed", at_ms=1)


def test_a_write_key_is_one_tenants_for_good_and_the_refusal_does_not_name_it(table: DocumentTable) -> None:
    mine, other = (Source(name="shop", tenant=name, write_keys=["sha256:1"]) for name in ("acme", "zoo"))
    table.write("acme", [change_of(mine)], by="ann", at_ms=1)
    table.write("acme", [Change(key=DocumentKey("source", "shop"), document=None)], by="ann", at_ms=1)
    for refusing in (table.write, table.plan):
        with pytest.raises(
            WriteKeyTakenError, match=r"^source/shop: one of its write keys is not"
        ) as refused:
            refusing("zoo", [change_of(other)], by="zed", at_ms=1)
        assert "acme" not in str(refused.value)
    assert table.documents("zoo") == []


def test_a_bundle_of_the_largest_size_is_written_whole_and_a_larger_one_refused(table: DocumentTable) -> None:
    names = [f"d{number}" for number in range(MOST_CHANGES)]
    assert len(put(table, *names)) == MOST_CHANGES
    with pytest.raises(ValueError, match="at most 49 documents, not 50"):
        put(table, *names, "one-more")


def shops(numbers: range, rate: int) -> list[Change]:
    """Sources with two write keys each."""
    return [
        change_of(
            Source(name=f"s{n}", tenant="acme", rate_limit=rate, write_keys=[f"sha256:{n}a", f"sha256:{n}b"])
        )
        for n in numbers
    ]


def test_only_new_write_keys_count_toward_the_size_of_a_write(table: DocumentTable) -> None:
    everything = range(MOST_CHANGES)
    with pytest.raises(TooManyChangesError, match="not 197"):
        table.write("acme", shops(everything, 1), by="ann", at_ms=1)
    for at in range(0, MOST_CHANGES, 20):
        table.write("acme", shops(everything[at : at + 20], 1), by="ann", at_ms=1)
    changed = shops(everything, 2)
    assert table.plan("acme", changed, by="ann", at_ms=2) == table.write("acme", changed, by="ann", at_ms=2)
    thief = Source(name="s", tenant="zoo", write_keys=["sha256:7b"])
    with pytest.raises(WriteKeyTakenError):
        table.write("zoo", [change_of(thief)], by="zed", at_ms=3)


def test_of_documents_published_before_the_newest_is_adopted_at_its_version(table: DocumentTable) -> None:
    def old(version: int, timeout: float) -> StoredDocument:
        document = destination("a", timeout)
        return StoredDocument(
            tenant="acme", key=key("a"), version=version, document=document, by="import", at_ms=1
        )

    assert not table.is_adopted("blue")
    table.adopt("blue", [old(7, 5)])
    table.adopt("green", [old(9, 6)])
    table.adopt("blue", [old(8, 5)])
    assert table.is_adopted("blue")
    assert not table.is_adopted("blu")
    assert table.get("acme", key("a")) == old(9, 6)
    (after,) = put(table, "a", timeout=8)
    assert after.version == 10
    table.adopt("green", [old(12, 7)])
    assert table.get("acme", key("a")) == after, "what a customer wrote since stays"


def test_a_side_says_when_its_provisioner_was_last_at_work_and_stays_adopted(table: DocumentTable) -> None:
    table.adopt("blue", [])
    table.adopt("green", [])
    table.renew_side("green", 7)
    table.renew_side("green", 9)
    assert table.sides() == {"blue": None, "green": 9}
    assert table.is_adopted("blue") and table.is_adopted("green")


def test_of_writers_at_the_same_time_each_acknowledged_write_is_in_the_history_once(
    dynamodb_local: str,
) -> None:
    # not in moto: a refused transaction there restores the whole table and loses others' writes
    table = DocumentTable("writers", dynamodb_local)
    table.ensure()
    written: list[StoredDocument] = []

    def write(writer: int) -> None:
        for number in range(6):
            name = NAMES[number % 2]
            written.extend(put(table, name, timeout=1 + (writer * 10 + number) / 100))

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    kept = [each for name in NAMES[:2] for each in table.history("acme", key(name))]
    assert len(written) == 36
    assert Counter(map(repr, written)) == Counter(map(repr, kept))
    for name in NAMES[:2]:
        versions = [each.version for each in table.history("acme", key(name))]
        assert versions == list(range(len(versions), 0, -1))
    assert table.catalogues() == {"acme": 36}


class Model(RuleBasedStateMachine):
    """A table beside a dictionary that holds every version."""

    table: DocumentTable
    runs = 0

    def __init__(self) -> None:
        super().__init__()
        Model.runs += 1
        self.suffix = f"-{Model.runs}"
        self.versions: dict[tuple[str, DocumentKey], list[float | None]] = {}
        self.removed: set[tuple[str, DocumentKey]] = set()
        """Deleted, and no longer among the documents."""

    def _tenant(self, name: str) -> str:
        return name + self.suffix  # each example has its own tenants

    def _alive(self, tenant: str, name: str) -> int:
        versions = self.versions.get((tenant, key(name)), [])
        return len(versions) if versions and versions[-1] is not None else ABSENT

    def _write(self, tenant: str, changes: Sequence[Change], values: Sequence[float | None]) -> None:
        added = self.table.write(self._tenant(tenant), changes, by="ann", at_ms=1)
        for change, value in zip(changes, values, strict=True):
            versions = self.versions.setdefault((tenant, change.key), [])
            if (versions[-1] if versions else None) != value:
                versions.append(value)
                self.removed.discard((tenant, change.key))
        assert {each.key: each.version for each in added} == {
            each.key: len(self.versions[tenant, each.key]) for each in added
        }

    @rule(
        tenant=st.sampled_from(TENANTS),
        values=st.dictionaries(st.sampled_from(NAMES), st.none() | st.sampled_from([1.0, 2.0]), min_size=1),
    )
    def write(self, tenant: str, values: dict[str, float | None]) -> None:
        changes = [
            Change(
                key=key(name),
                document=None if value is None else destination(name, value, self._tenant(tenant)),
            )
            for name, value in values.items()
        ]
        self._write(tenant, changes, list(values.values()))

    @rule(tenant=st.sampled_from(TENANTS), name=st.sampled_from(NAMES), expected=st.integers(0, 3))
    def write_if(self, tenant: str, name: str, expected: int) -> None:
        change = change_of(destination(name, 3.0, self._tenant(tenant)), expected)
        if expected == self._alive(tenant, name):
            self._write(tenant, [change], [3.0])
            return
        with pytest.raises(VersionConflictError):
            self._write(tenant, [change], [3.0])

    @rule(tenant=st.sampled_from(TENANTS), name=st.sampled_from(NAMES))
    def remove(self, tenant: str, name: str) -> None:
        versions = self.versions.get((tenant, key(name)), [])
        deleted = [at for at, value in enumerate(versions, 1) if value is None]
        for version in deleted:  # all versions but the newest change nothing
            whose = self._tenant(tenant)
            self.table.remove(
                StoredDocument(tenant=whose, key=key(name), version=version, document=None, by="ann", at_ms=1)
            )
        if deleted and deleted[-1] == len(versions):
            self.removed.add((tenant, key(name)))

    @invariant()
    def every_version_is_there(self) -> None:
        for tenant in TENANTS:
            mine = {at: found for (owner, at), found in self.versions.items() if owner == tenant and found}
            newest = {each.key: each for each in self.table.documents(self._tenant(tenant))}
            assert {at: timeout_of(each) for at, each in newest.items()} == {
                at: found[-1] for at, found in mine.items() if (tenant, at) not in self.removed
            }
            for at, found in mine.items():
                history = self.table.history(self._tenant(tenant), at)
                assert [timeout_of(each) for each in reversed(history)] == found


def timeout_of(stored: StoredDocument) -> float | None:
    assert stored.document is None or isinstance(stored.document, Destination)
    return stored.document.timeout_seconds if stored.document else None


@pytest.mark.parametrize("examples", [10, pytest.param(200, marks=pytest.mark.proof)])
def test_any_sequence_of_writes_leaves_what_a_dictionary_of_versions_holds(
    dynamodb_local: str, examples: int
) -> None:
    table = DocumentTable("model", dynamodb_local)
    table.ensure()

    class OnTable(Model):
        pass

    OnTable.table = table
    quiet = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
    chosen = settings(
        max_examples=examples, stateful_step_count=8, deadline=None, suppress_health_check=quiet
    )
    run_state_machine_as_test(OnTable, settings=chosen)

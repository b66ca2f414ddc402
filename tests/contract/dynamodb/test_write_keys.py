"""Of several concurrent writers exactly one gets a write key."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from pipelines.management.api import intent
from pipelines.management.api.problems import ProblemError
from shared.contracts.document_items import WriteKeyTakenError
from shared.contracts.documents import Source
from shared.dynamodb.document_table import DocumentTable
from tests.harness.document_changes import change_of

WRITERS = 6


def test_of_writers_at_the_same_time_one_source_gets_a_key(dynamodb_local: str) -> None:
    # not in moto: a refused transaction there restores the whole table
    table = DocumentTable("writekeys", dynamodb_local)
    table.ensure()
    together = Barrier(WRITERS)

    def write(writer: int) -> str:
        tenant, name = f"t{writer % 2}", f"s{writer}"
        change = change_of(Source(name=name, tenant=tenant, write_keys=["sha256:one"]))
        together.wait()
        try:
            table.write(tenant, [change], by="ann", at_ms=1, verify=intent.verify)
        except (ProblemError, WriteKeyTakenError) as error:
            return str(error)
        return ""

    with ThreadPoolExecutor(WRITERS) as pool:
        refusals = [each for each in pool.map(write, range(WRITERS)) if each]
    there = [each for tenant in ("t0", "t1") for each in table.documents(tenant)]
    assert (len(there), len(refusals)) == (1, WRITERS - 1), refusals


def test_a_key_of_the_same_tenants_other_source_is_refused_and_both_are_named(table: DocumentTable) -> None:
    for name in ("b", "a", "c"):
        change = change_of(Source(name=name, tenant="acme", write_keys=["sha256:one"]))
        if name == "b":
            table.write("acme", [change], by="ann", at_ms=1, verify=intent.verify)
            continue
        for refusing in (table.plan, table.write):
            with pytest.raises(ProblemError, match=f"sources {name} and b have one write key") as refused:
                refusing("acme", [change], by="ann", at_ms=1, verify=intent.verify)
            assert [each.pointer for each in refused.value.errors] == ["/write_keys/0"]
    assert [each.key.name for each in table.documents("acme")] == ["b"]


def test_two_sources_that_share_a_key_since_before_it_was_refused_can_still_be_changed(
    table: DocumentTable,
) -> None:
    for name in ("a", "b"):
        before = Source(name=name, tenant="acme", write_keys=["sha256:one"])
        table.write("acme", [change_of(before)], by="ann", at_ms=1)  # as an older version did

    def write(name: str, *keys: str, rate: float | None = None) -> None:
        change = change_of(Source(name=name, tenant="acme", write_keys=list(keys), rate_limit=rate))
        table.plan("acme", [change], by="ann", at_ms=1, verify=intent.verify)
        table.write("acme", [change], by="ann", at_ms=1, verify=intent.verify)

    write("a", "sha256:one", rate=5)
    write("a", "sha256:two", "sha256:one", rate=5)
    with pytest.raises(ProblemError) as refused:
        write("b", "sha256:one", "sha256:two")
    (error,) = refused.value.errors
    assert (error.document, error.pointer) == ("source/b", "/write_keys/1")
    assert (error.detail, error.fix) == (
        "sources b and a have one write key",
        "state other write_keys for one of them",
    )
    write("a", "sha256:two", rate=5)
    with pytest.raises(ProblemError, match="sources a and b have one write key"):
        write("a", "sha256:two", "sha256:one", rate=5)

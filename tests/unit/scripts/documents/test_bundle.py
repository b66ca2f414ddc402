"""Requests that write documents, in parts that the API takes."""

from hypothesis import given
from hypothesis import strategies as st

from scripts.documents.bundle import Action, Step, Wanted, by_tenant, delete_bodies, parts, put_body
from shared.contracts.document_items import MOST_ITEMS, DocumentKey
from shared.contracts.documents import Destination, Document, Pipe, Source, key_digest

PIPE = Pipe(name="p", tenant="acme", source="s", destination="d")


def source(keys: int, name: str = "s") -> Wanted:
    return Wanted(
        document=Source(name=name, tenant="acme", write_keys=[f"a-key-of-{name}-{n}" for n in range(keys)])
    )


@given(st.lists(st.integers(1, 40), max_size=60))
def test_no_part_is_larger_than_a_transaction_and_none_is_left_out(keys: list[int]) -> None:
    wanted = [source(count, f"s{at}") for at, count in enumerate(keys)]
    found = list(parts(wanted))
    assert [each for part in found for each in part] == wanted
    for part in found:
        # current item and history of each, its keys, and the catalogue
        assert sum(2 + len(each.body()["write_keys"]) for each in part) + 1 <= MOST_ITEMS


def test_a_pipe_is_written_after_what_it_names_and_tenants_are_apart() -> None:
    others: list[Document] = [Destination(name="d", tenant="acme"), Destination(name="d2", tenant="zoo")]
    groups = dict(by_tenant(Wanted(document=each) for each in [PIPE, *others]))
    assert [str(each.key) for each in groups["acme"]] == ["destination/d", "pipe/p"]
    assert [str(each.key) for each in groups["zoo"]] == ["destination/d2"]


def test_pipes_are_deleted_before_what_they_name_each_at_the_version_that_was_seen() -> None:
    found = [(DocumentKey("destination", f"d{n}"), None) for n in range(60)]
    first, second = delete_bodies([*found, (DocumentKey("pipe", "p"), 3)])
    assert (first["delete"][0], first["expected"]) == ({"kind": "pipe", "name": "p"}, {"pipe/p": 3})
    assert len(first["delete"]) + len(second["delete"]) == 61
    assert 2 * len(first["delete"]) + 1 <= MOST_ITEMS


def test_a_write_key_is_sent_as_its_digest_only_and_left_out_if_it_was_not_stated() -> None:
    assert source(1).body()["write_keys"] == [key_digest("a-key-of-s-0")]
    assert "write_keys" not in Wanted(document=source(1).document, states_keys=False).body()


def test_a_write_expects_the_version_that_was_checked() -> None:
    step = Step(kind="pipe", name="p", action=Action.CREATE, before=None, after=1)
    assert put_body([Wanted(document=PIPE)], {step.key: step})["expected"] == {"pipe/p": 0}
    assert put_body([Wanted(document=PIPE)], {})["expected"] == {}

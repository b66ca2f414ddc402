"""Requests that write documents, in parts that the API accepts."""

from random import Random

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


def of_one_tenant(shape: list[tuple[int, int]], order: Random) -> list[Wanted]:
    """Sources with this many keys and pipes each, a destination per pipe, and a pipe of another source."""
    documents: list[Document] = [Pipe(name="p", tenant="acme", source="there", destination="there")]
    for at, (keys, pipes) in enumerate(shape):
        documents.append(source(keys, f"s{at}").document)
        for number in range(pipes):
            name = f"s{at}-{number}"
            documents.append(Destination(name=name, tenant="acme"))
            documents.append(Pipe(name=name, tenant="acme", source=f"s{at}", destination=name))
    order.shuffle(documents)
    return [Wanted(document=each) for each in documents]


@given(
    st.lists(st.tuples(st.integers(1, 40), st.one_of(st.integers(0, 4), st.integers(30, 60))), max_size=12),
    st.integers(0, 1_000),
)
def test_a_source_is_written_together_with_all_its_pipes_if_they_fit_into_one_write(
    shape: list[tuple[int, int]], seed: int
) -> None:
    wanted = of_one_tenant(shape, Random(seed))
    ((_, group),) = by_tenant(wanted)
    found = list(parts(group))
    part_of = {each.key: at for at, part in enumerate(found) for each in part}
    assert sum(map(len, found)) == len(part_of) == len(wanted)
    assert all(sum(each.items for each in part) + 1 <= MOST_ITEMS for part in found)
    for each in wanted:
        if isinstance(each.document, Pipe) and each.document.source != "there":
            named = [DocumentKey(kind, getattr(each.document, kind)) for kind in ("source", "destination")]
            assert max(part_of[key] for key in named) <= part_of[each.key], "what a pipe names is there"
    for at, (keys, pipes) in enumerate(shape):
        places = {part_of[DocumentKey("pipe", f"s{at}-{number}")] for number in range(pipes)}
        if 2 + keys + 2 * pipes + 1 <= MOST_ITEMS:
            assert places <= {part_of[DocumentKey("source", f"s{at}")]}


def test_a_pipe_is_written_after_what_it_names_and_tenants_are_apart() -> None:
    others: list[Document] = [Destination(name="d", tenant="acme"), Destination(name="d2", tenant="zoo")]
    groups = dict(by_tenant(Wanted(document=each) for each in [PIPE, *others]))
    assert [str(each.key) for each in groups["acme"]] == ["destination/d", "pipe/p"]
    assert [str(each.key) for each in groups["zoo"]] == ["destination/d2"]


def test_pipes_are_deleted_before_what_they_name_each_at_the_version_that_was_seen() -> None:
    found = [(Destination(name=f"d{n}", tenant="acme"), None) for n in range(60)]
    first, second = delete_bodies([*found, (PIPE, 3)])
    assert {"kind": "pipe", "name": "p"} in first["delete"]
    assert first["expected"] == {"pipe/p": 3}
    assert len(first["delete"]) + len(second["delete"]) == 61
    assert 2 * len(first["delete"]) + 1 <= MOST_ITEMS


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(0, 120)), max_size=8), st.integers(0, 1_000))
def test_no_source_is_open_without_pipes_while_the_rest_is_deleted(
    shape: list[tuple[int, int]], seed: int
) -> None:
    wanted = of_one_tenant(shape, Random(seed))
    part_of = {
        (key["kind"], key["name"]): at
        for at, body in enumerate(delete_bodies((each.document, None) for each in wanted))
        for key in body["delete"]
    }
    assert len(part_of) == len(wanted)
    for at, (_, pipes) in enumerate(shape):
        places = [part_of["pipe", f"s{at}-{number}"] for number in range(pipes)]
        assert max(places, default=part_of["source", f"s{at}"]) == part_of["source", f"s{at}"]
    for each in wanted:
        if isinstance(each.document, Pipe) and each.document.destination != "there":
            pipe, destination = (
                part_of["pipe", each.key.name],
                part_of["destination", each.document.destination],
            )
            assert pipe <= destination


def test_a_write_key_is_sent_as_its_digest_only_and_left_out_if_it_was_not_stated() -> None:
    assert source(1).body()["write_keys"] == [key_digest("a-key-of-s-0")]
    assert "write_keys" not in Wanted(document=source(1).document, states_keys=False).body()


def test_a_write_expects_the_version_that_was_checked() -> None:
    step = Step(kind="pipe", name="p", action=Action.CREATE, before=None, after=1)
    assert put_body([Wanted(document=PIPE)], {step.key: step})["expected"] == {"pipe/p": 0}
    assert put_body([Wanted(document=PIPE)], {})["expected"] == {}

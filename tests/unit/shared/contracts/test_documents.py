"""Documents as stored on the topic, and contradictions within a catalogue."""

import msgspec
import pytest

from shared.contracts.document_items import MOST_ITEMS
from shared.contracts.documents import (
    MOST_WRITE_KEYS,
    Catalogue,
    Entry,
    Source,
    decode_entry,
    sealed,
    topic_key,
)
from shared.contracts.write_parts import items_of


def source(name: str, *keys: str, tenant: str = "acme") -> Source:
    return Source(name=name, tenant=tenant, write_keys=list(keys))


def catalogue(*sources: Source) -> Catalogue:
    return Catalogue(
        {
            topic_key(each.tenant, "source", each.name): Entry(version=1, document=sealed(each))
            for each in sources
        }
    )


@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")], ids=["before it", "after it"])
def test_one_key_at_two_sources_is_refused_wherever_the_other_is_in_the_order(names: tuple[str, str]) -> None:
    one, other = (source(name, f"own-key-of-{name}", "a shared key") for name in names)
    for each, another in ((one, other), (other, one)):
        (problem,) = catalogue(one, other).problems(each)
        assert problem[0] == "$.write_keys[1]"
        assert problem[1].startswith(f"sources {each.name} and {another.name} have one write key")


def test_a_source_of_another_tenant_is_not_named() -> None:
    mine, other = source("mine", "a shared key"), source("theirs", "a shared key", tenant="zoo")
    ((_, said),) = catalogue(mine, other).problems(mine)
    assert said.startswith("two sources have one write key")
    assert "zoo" not in said
    assert "theirs" not in said


def test_sources_with_keys_of_their_own_and_a_key_given_twice_are_taken() -> None:
    one, other = source("a", "first key", "first key"), source("b", "second key")
    assert [list(catalogue(one, other).problems(each)) for each in (one, other)] == [[], []]


def test_a_key_that_a_source_had_already_is_no_problem_of_its_next_version() -> None:
    former, new = source("a", "a shared key"), source("a", "a shared key", "another shared key")
    other = source("b", "a shared key", "another shared key")
    ((path, _),) = catalogue(new, other).problems(new, former)
    assert path == "$.write_keys[1]"
    assert not list(catalogue(former, other).problems(former, sealed(former)))


def test_a_source_has_no_more_keys_than_one_write_takes_unless_it_had_as_many() -> None:
    most, more = (source("a", *(f"write key {n}" for n in range(MOST_WRITE_KEYS + add))) for add in (0, 1))
    assert items_of(most) + 1 <= MOST_ITEMS, "with the catalogue"
    assert not list(catalogue(most).problems(most))
    for former in (None, most):
        ((path, said),) = catalogue(more).problems(more, former)
        assert path == "$.write_keys" and said.startswith("a source has at most 90 write keys, not 91; ")
    assert not list(catalogue(more).problems(more, more))


@pytest.mark.parametrize("key", ["abcdefgh\n", " abcdefgh", "sha256:nothing"])
def test_a_stored_source_with_a_write_key_that_is_refused_today_is_still_read(key: str) -> None:
    stored = {
        "version": 1,
        "document": {"kind": "source", "name": "a", "tenant": "acme", "write_keys": [key]},
    }
    assert decode_entry(msgspec.json.encode(stored)).document == source("a", key)

"""The servers to which a user has signed in."""

import stat
from pathlib import Path

import pytest

from scripts.documents.contexts import Context, Contexts, ContextsError, change_contexts, read_contexts

SHOP = Context(server="https://api.example.com", token="hifi_x", tenant="shop")


def test_a_file_of_contexts_is_its_owners_only_and_reads_as_it_was_written(tmp_path: Path) -> None:
    file = tmp_path / "new" / "contexts.yaml"
    contexts = Contexts().adding("shop", SHOP)
    for each in (Contexts(), contexts, contexts.using("local"), contexts):
        assert _kept(file, each) == each
    assert sorted(each.name for each in file.parent.iterdir()) == ["contexts.yaml", "contexts.yaml.lock"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert read_contexts(file) == contexts
    assert contexts.current == "shop"


def _kept(file: Path, contexts: Contexts) -> Contexts:
    return change_contexts(file, lambda _: contexts)


def test_without_a_file_the_local_side_is_meant(tmp_path: Path) -> None:
    assert read_contexts(tmp_path / "none.yaml") == Contexts(current="local")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("current: [")
    with pytest.raises(ContextsError, match=r"c\.yaml cannot be read"):
        read_contexts(tmp_path / "c.yaml")


def test_one_that_is_removed_is_not_the_current_one_any_more() -> None:
    contexts = Contexts().adding("shop", SHOP)
    assert contexts.without("shop") == Contexts()
    assert contexts.using("local").without("shop").current == "local"


@pytest.mark.parametrize("name", ["shop", "nowhere"])
def test_an_unknown_context_is_said_with_those_there_are(name: str) -> None:
    with pytest.raises(ContextsError, match=f"no context '{name}'; there are local, zoo"):
        Contexts().adding("zoo", SHOP).using(name)


def test_no_context_takes_the_local_sides_name() -> None:
    with pytest.raises(ContextsError, match="choose another --context"):
        Contexts().adding("local", SHOP)

"""Watches of a pipe: permitted fields, and refusals with place and fix."""

from typing import Any

import pytest

from shared.contracts.document_parsing import ConfigError, parse
from shared.contracts.documents import Pipe
from shared.contracts.watches import watched_names

SCORE = {"field": "data.score", "kind": "distribution"}


def parsed(watch: list[Any], **more: Any) -> Pipe:
    found = parse(
        {"kind": "pipe", "name": "p", "tenant": "t", "source": "s", "destination": "d", "watch": watch} | more
    )
    assert isinstance(found, Pipe)
    return found


def test_a_pipe_watches_nothing_unless_it_says_so() -> None:
    found = parse({"kind": "pipe", "name": "p", "tenant": "t", "source": "s", "destination": "d"})
    assert isinstance(found, Pipe) and found.watch == []


@pytest.mark.parametrize(
    ("field", "names"),
    [
        ("data.score", ("score",)),
        ("data.user.country", ("user", "country")),
        ("data['odd.name'].x", ("odd.name", "x")),
    ],
)
def test_a_field_is_names_below_data(field: str, names: tuple[str, ...]) -> None:
    assert watched_names(field) == names
    assert parsed([{"field": field, "kind": "categories"}]).watch[0].field == field


@pytest.mark.parametrize(
    ("watch", "path", "said"),
    [
        ([{"field": "score", "kind": "distribution"}], "$.watch[0].field", "is no field under data"),
        ([{"field": "data", "kind": "distribution"}], "$.watch[0].field", "for example data.score"),
        ([{"field": "$.data.a", "kind": "distribution"}], "$.watch[0].field", "names under data"),
        ([{"field": "id", "kind": "categories"}], "$.watch[0].field", "names under data"),
        ([SCORE, {"field": "data..a", "kind": "categories"}], "$.watch[1].field", "cannot be read"),
        ([{"field": "data.a[0]", "kind": "distribution"}], "$.watch[0].field", "takes names only"),
        ([{"field": "data.a[*].b", "kind": "distribution"}], "$.watch[0].field", "each of its elements"),
        ([{"field": "data.a" * 50, "kind": "distribution"}], "$.watch[0].field", "200"),
        ([{"field": "data.a", "kind": "median"}], "$.watch[0].kind", "median"),
        ([{"field": "data.a"}], "$.watch[0]", "kind"),
        ([SCORE | {"every": 1}], "$.watch[0].every", "every"),
        ([SCORE, {"field": "data['score']", "kind": "categories"}], "$.watch[1].field", "watched already"),
        ([{"field": f"data.f{n}", "kind": "categories"} for n in range(6)], "$.watch", "5"),
    ],
)
def test_a_wrong_watch_is_refused_with_its_place(watch: list[Any], path: str, said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parsed(watch)
    assert refused.value.path == path
    assert said in str(refused.value)


@pytest.mark.parametrize(
    "path",
    [
        "$.data",
        "$.data.*",
        "$.data.user",
        "$.data.user.country",
        "$.data.user[0].country",
        "$.data[*].country",
        "$.data.*.country.code",
        "$.data.user[*]['country'][3]",
    ],
)
def test_a_masked_field_is_not_watched(path: str) -> None:
    with pytest.raises(ConfigError, match="is masked by") as refused:
        parsed(
            [SCORE, {"field": "data.user.country", "kind": "categories"}],
            masks=[{"path": "$.subject", "action": "drop"}, {"path": path, "action": "hash"}],
        )
    assert refused.value.path in ("$.watch[0].field", "$.watch[1].field")


@pytest.mark.parametrize(
    "path", ["$.data.user.email", "$.data.users", "$.subject", "$.data.country", "$.data.x.*"]
)
def test_a_mask_elsewhere_forbids_no_watch(path: str) -> None:
    watch = [{"field": "data.user.country", "kind": "categories"}]
    assert parsed(watch, masks=[{"path": path, "action": "hash"}]).watch

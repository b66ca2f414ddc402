"""A tenant's documents are limited in number and size; above a limit a tenant can still delete."""

from collections.abc import Sequence
from typing import Any

import pytest

from shared.contracts.documents import Contact, Destination, Document, Pipe, Source
from shared.contracts.tenant_limits import UNCOUNTED_KEYS, WATCHED, TenantFullError, TenantLimits
from shared.contracts.watches import Watch

FEW = TenantLimits(documents=2, bytes=1_000)
FEW_CONTACTS = TenantLimits(contacts=2)


def sinks(count: int, size: int = 0) -> list[Document]:
    options = {"url": "x" * size}
    return [Destination(name=f"d{number}", tenant="t", options=options) for number in range(count)]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([], sinks(2)),
        (sinks(2), sinks(2)),
        (sinks(5), sinks(4)),
        (sinks(5), sinks(5)),
        (sinks(1, 2_000), sinks(1, 1_500)),
        (sinks(1, 2_000), sinks(1, 2_000)),
    ],
    ids=["up to it", "at it", "less above it", "the same above it", "smaller above it", "as large above it"],
)
def test_what_stays_within_or_adds_nothing_is_taken(
    before: Sequence[Document], after: Sequence[Document]
) -> None:
    FEW.check(before, after)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (sinks(2), sinks(3), "3 documents, and may have 2; .* HIFI_TENANT_DOCUMENTS"),
        (sinks(5), sinks(6), "6 documents, and may have 2; .* HIFI_TENANT_DOCUMENTS"),
        (sinks(1), sinks(1, 1_000), "bytes of documents, and may have 1,000; .* HIFI_TENANT_BYTES"),
        (sinks(1, 1_500), sinks(1, 1_501), "bytes of documents, and may have 1,000; .* HIFI_TENANT_BYTES"),
    ],
)
def test_what_adds_too_much_is_refused_with_the_limit_and_the_fix(
    before: Sequence[Document], after: Sequence[Document], said: str
) -> None:
    with pytest.raises(TenantFullError, match=said):
        FEW.check(before, after)


def contacts(count: int, at: str = "a@example.com") -> list[Document]:
    return [Contact(name=f"c{number}", tenant="t", email=at) for number in range(count)]


@pytest.mark.parametrize(
    ("before", "after"),
    [(0, 2), (2, 2), (5, 5), (5, 4)],
    ids=["up to it", "changed at it", "changed above it", "deleted above it"],
)
def test_contacts_of_a_tenant_above_the_limit_are_changed_and_deleted(before: int, after: int) -> None:
    FEW_CONTACTS.check([*sinks(9), *contacts(before)], [*sinks(9), *contacts(after, "b@example.com")])


@pytest.mark.parametrize("before", [2, 5])
def test_one_more_contact_than_each_alarm_may_go_to_is_refused(before: int) -> None:
    said = f"would have {before + 1} contacts, and may have 2; .* HIFI_TENANT_CONTACTS"
    with pytest.raises(TenantFullError, match=said):
        FEW_CONTACTS.check(contacts(before), contacts(before + 1))


def hooks(*names: str) -> list[Document]:
    """A destination with these secrets in its headers, and another with only the first of them."""
    headers = {f"X-{at}": f"secret://t/{name}" for at, name in enumerate(names)}
    options = {"url": "https://example.com", "headers": headers}
    first = {"auth": {"type": "bearer", "token": f"secret://t/{names[0]}"}}
    return [
        Destination(name="d", tenant="t", options=options),
        Destination(name="e", tenant="t", options=first),
    ]


def test_documents_that_name_too_many_different_secrets_are_refused() -> None:
    limits = TenantLimits(secrets=3)
    limits.check([], hooks("a", "b", "c"))
    limits.check(hooks("a", "b", "c", "d", "e"), hooks("a", "b", "c", "d"))
    limits.check(hooks("a", "b", "c", "d"), hooks("a", "b", "c", "x"))
    said = "would have 4 names of secrets, and may have 3; .* HIFI_TENANT_SECRETS"
    with pytest.raises(TenantFullError, match=said):
        limits.check(hooks("a", "b", "c"), hooks("a", "b", "c", "d"))


def piped(*matches: dict[str, Any]) -> list[Document]:
    names = enumerate(matches)
    return [Pipe(name=f"p{at}", tenant="t", source="s", destination="d", match=each) for at, each in names]


SIX = {"data": {"$or": [{"a": [1]}, {"b": [2]}], "c": [3], "d": [4, 5]}}
"""Two alternatives of three conditions."""


def test_pipes_that_compare_an_event_too_often_are_refused() -> None:
    limits = TenantLimits(comparisons=7)
    limits.check([], piped(SIX, {"type": ["x"]}))
    limits.check(piped(SIX, SIX, SIX), piped(SIX, SIX))
    said = (
        "would have 8 comparisons in its pipes' patterns and watches, "
        "and may have 7; .* HIFI_TENANT_COMPARISONS"
    )
    with pytest.raises(TenantFullError, match=said):
        limits.check(piped(SIX), piped(SIX, {"type": ["x"], "id": ["y"]}))


def watching(count: int, fields: int = 1) -> list[Document]:
    watch = [Watch(field=f"data.f{number}", kind="categories") for number in range(fields)]
    return [
        Pipe(name=f"p{number}", tenant="t", source="s", destination=f"d{number}", watch=watch)
        for number in range(count)
    ]


def test_watched_fields_count_as_comparisons() -> None:
    limits = TenantLimits(comparisons=6 * WATCHED)
    limits.check([], watching(2, 3))
    limits.check(watching(3, 3), watching(3, 3))
    said = (
        "would have 70 comparisons in its pipes' patterns and watches, "
        "and may have 60; .* HIFI_TENANT_COMPARISONS"
    )
    with pytest.raises(TenantFullError, match=said):
        limits.check(watching(2, 3), [*watching(2, 3), *piped({"type": ["x"] * 100})])


@pytest.mark.parametrize("fields", [1, 5])
def test_twenty_thousand_watching_pipes_of_one_tenant_are_refused(fields: int) -> None:
    limits = TenantLimits(copies=20_000)
    limits.check([], watching(1_000, fields))
    with pytest.raises(TenantFullError, match="HIFI_TENANT_COMPARISONS"):
        limits.check([], watching(20_000, fields))


def test_ten_thousand_pipes_of_one_tenant_fit() -> None:
    def match(number: int) -> dict[str, Any]:
        data = {"amount": [{"numeric": [">", number]}], "country": ["DE", "FR"]}
        return {"type": ["order"], "data": data}

    pipes = [
        Pipe(name=f"tenant-00001-{number}", tenant="tenant", source="s", destination="d", match=match(number))
        for number in range(10_000)
    ]
    TenantLimits().check([], pipes)


def copies(count: int, source: str = "s", **match: list[object]) -> list[Document]:
    """Pipes that all take the same events."""
    return [
        Pipe(name=f"{source}-{match}-{at}", tenant="t", source=source, destination=f"d{at}", match=match)
        for at in range(count)
    ]


THREE_COPIES = TenantLimits(copies=3)


def test_an_event_that_more_pipes_would_copy_than_a_tenant_may_is_refused() -> None:
    said = "would have 4 pipes of one source with the same match, and may have 3; .* HIFI_TENANT_COPIES"
    with pytest.raises(TenantFullError, match=said):
        THREE_COPIES.check(copies(3), copies(4))
    with pytest.raises(TenantFullError, match=said):
        THREE_COPIES.check([], [*copies(2, type=["a"], id=["b"]), *copies(2, "s", id=["b"], type=["a"])])


def test_pipes_of_other_sources_and_of_other_matches_copy_other_events() -> None:
    one = [*copies(3), *copies(3, "other"), *copies(3, type=[1]), *copies(3, type=[True])]
    THREE_COPIES.check([], [*one, *copies(3, type=["a"])])
    TenantLimits().check([], copies(200))


def test_copies_of_a_tenant_above_the_limit_are_changed_and_deleted() -> None:
    THREE_COPIES.check(copies(5), copies(5))
    THREE_COPIES.check(copies(5), copies(4))
    THREE_COPIES.check(copies(5), [*copies(4), *copies(1, type=["a"])])


def test_copies_above_the_limit_in_one_place_give_no_room_in_another() -> None:
    had = [*copies(5), *copies(3, "other")]
    said = "would have 4 pipes of one source with the same match, and may have 3; .* HIFI_TENANT_COPIES"
    with pytest.raises(TenantFullError, match=said):
        THREE_COPIES.check(had, [*copies(5), *copies(4, "other")])
    THREE_COPIES.check(had, [*copies(4), *copies(4, "other")])
    THREE_COPIES.check(had, [*copies(5), *copies(3, "other"), *copies(3, "third")])


def sources(keys: int) -> list[Document]:
    digests = [f"sha256:{number:064}" for number in range(keys)]
    return [Source(name="s", tenant="t", write_keys=digests)]


def test_write_keys_are_rotated_at_the_limit_and_very_many_count() -> None:
    full = [*sinks(1, 2_000), *sources(1)]
    FEW.check(full, [*sinks(1, 2_000), *sources(2)])
    FEW.check(full, [*sinks(1, 2_000), *sources(UNCOUNTED_KEYS)])
    FEW.check([*sinks(1, 2_000), *sources(60)], [*sinks(1, 2_000), *sources(59)])
    with pytest.raises(TenantFullError, match="bytes of documents"):
        FEW.check(full, [*sinks(1, 2_000), *sources(UNCOUNTED_KEYS + 1)])
    with pytest.raises(TenantFullError, match="bytes of documents"):
        FEW.check([], sources(UNCOUNTED_KEYS + 20))


def test_a_set_in_parts_is_refused_if_one_goes_above_a_limit_before_a_later_one_gives_back() -> None:
    small, large = sinks(1), sinks(1, 600)
    FEW.check_parts(small, [(small, large), (large, small)])
    had = [*small, *sources(UNCOUNTED_KEYS + 5)]
    FEW.check(had, [*large, *sources(1)])
    FEW.check_parts(had, [(sources(UNCOUNTED_KEYS + 5), sources(1)), (small, large)])
    said = "while the set is written in parts the tenant would have .* bytes .* in two steps"
    with pytest.raises(TenantFullError, match=said):
        FEW.check_parts(had, [(small, large), (sources(UNCOUNTED_KEYS + 5), sources(1))])
    with pytest.raises(TenantFullError, match="would have 4 pipes of one source with the same match"):
        THREE_COPIES.check_parts(copies(3), [([], copies(1, "other")), ([], copies(4)[3:])])


def test_secrets_that_are_named_twice_count_once_in_each_part() -> None:
    limits, (first, second) = TenantLimits(secrets=2), hooks("a", "b")
    limits.check_parts([first, second], [([first], hooks("a", "c")[:1]), ([second], hooks("c", "a")[1:])])
    with pytest.raises(TenantFullError, match="would have 3 names of secrets, and may have 2"):
        limits.check_parts([first, second], [([second], hooks("c", "a")[1:])])

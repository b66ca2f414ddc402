"""The person behind the claims of a verified token."""

import pytest

from pipelines.management.api.rights.callers import ClaimNames, person_id, person_of, roles_of, shown_label
from shared.contracts.api_answers.access import Role

NAMES = ClaimNames(label="email", tenant="t", role="r")
CLAIMS = {"iss": "https://i.example", "sub": "u1", "exp": 100.5}


def test_without_names_of_claims_a_token_gives_no_role_whatever_it_says() -> None:
    person = person_of(CLAIMS | {"t": "shop", "r": "owner"}, ClaimNames(label="email"))
    assert (person.granted, person.operator, person.expires_ms) == ({}, False, 100_500)


def test_an_operator_is_one_without_a_tenant_and_only_by_the_claim_of_roles() -> None:
    assert person_of(CLAIMS | {"r": "operator"}, NAMES).operator
    for claims in ({"r": "operator", "t": "shop"}, {"r": "owner"}, {"r": ["operator"]}, {"operator": True}):
        person = person_of(CLAIMS | claims, NAMES)
        assert (person.operator, person.granted) == (False, {})


def test_of_claim_and_membership_the_higher_role_counts() -> None:
    person = person_of(CLAIMS | {"t": "shop", "r": "editor"}, NAMES)
    assert roles_of(person, {"shop": Role.VIEWER, "toys": Role.OWNER}) == {
        "shop": Role.EDITOR, "toys": Role.OWNER
    }  # fmt: skip
    assert roles_of(person, {"shop": Role.OWNER}) == {"shop": Role.OWNER}


def test_no_two_pairs_of_issuer_and_subject_are_one_person() -> None:
    pairs = [("https://a", "b"), ("https://a/b", ""), ("https://", "ab"), ('https://a","', "b")]
    assert len({person_id(*pair) for pair in pairs}) == len(pairs)


@pytest.mark.parametrize(
    ("claim", "shown"),
    [
        ("ann@x", "ann@x"),
        (None, "u1"),
        (" ", "u1"),
        (7, "u1"),
        ("a\nb\x1b[0m", "a b [0m"),
        ("x" * 200, "x" * 100),
    ],
)
def test_a_label_is_one_line_of_a_bounded_length(claim: object, shown: str) -> None:
    assert shown_label(claim, "u1") == shown

"""Sessions, and requests from other sites."""

import pytest
from pydantic import ValidationError

from pipelines.management.console.same_origin import foreign
from pipelines.management.console.session import (
    LIFE_MS,
    MOST_EACH,
    Identity,
    Session,
    Sessions,
    most_crowded,
)
from pipelines.management.console.settings import ConsoleSettings
from pipelines.management.console.signing_in.sign_in import safe_next
from shared.contracts.api_answers.access import MembershipView

IDENTITY = Identity(id="t1", role="editor", tenant="shop")


class Time:
    """A clock that a test sets."""

    now = 1_000

    def __call__(self) -> int:
        return self.now


def test_a_session_ends_after_its_life_with_its_token_or_when_it_is_told_to() -> None:
    clock = Time()
    sessions = Sessions(clock)
    long = sessions.begin("secret", IDENTITY)
    short = sessions.begin("secret", Identity(id="t2", role="viewer", expires_ms=2_000))
    assert sessions.find(long.id) == long and sessions.find("guess") is None and sessions.find(None) is None
    clock.now = 2_000
    assert sessions.find(short.id) is None and sessions.find(long.id) == long
    clock.now = 1_000 + LIFE_MS
    assert sessions.find(long.id) is None
    other = sessions.begin("secret", IDENTITY)
    sessions.end(other.id)
    assert sessions.find(other.id) is None


def test_many_sign_ins_of_one_person_end_its_own_sessions_only() -> None:
    sessions = Sessions(Time())
    victim = sessions.begin("secret", IDENTITY)
    mine = [sessions.begin("mine", Identity(id="greedy", tenant="other")) for _ in range(3 * MOST_EACH)]
    assert sessions.find(victim.id) == victim
    held = [sessions.find(each.id) is not None for each in mine]
    assert held == [False] * 2 * MOST_EACH + [True] * MOST_EACH


def test_however_many_tokens_a_tenant_signs_in_with_people_of_others_stay_signed_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pipelines.management.console.session.MOST_SESSIONS", 200)
    sessions = Sessions(Time())

    def person(n: int) -> Identity:
        return Identity(id=f"v{n}", tenants=(MembershipView(tenant=f"shop{n % 9}", role="owner"),))

    few = [sessions.begin("secret", person(n)) for n in range(30)]
    operator = sessions.begin("secret", Identity(id="o", role="operator"))
    for n in range(500):
        sessions.begin("mine", Identity(id=f"t{n}", tenant="greedy", role="viewer"))
    assert all(sessions.find(each.id) == each for each in [*few, operator])


def test_within_a_crowd_who_has_most_sessions_gives_way_with_its_oldest() -> None:
    def session(name: str, person: str, tenant: str) -> Session:
        identity = Identity(id=person, tenant=tenant)
        return Session(id=name, token="t", identity=identity, until_ms=1)

    held = [session(*each.split()) for each in ("1 ann a", "2 bob b", "3 bob b", "4 cid b")]
    assert most_crowded(held) == "2"


@pytest.mark.parametrize(
    ("origin", "public", "refused"),
    [
        (None, None, False),
        ("http://console.test:8090", None, False),
        ("http://CONSOLE.test:8090", None, False),
        ("https://console.example.com", "https://console.example.com", False),
        ("https://console.example.com", None, True),
        ("http://console.test", None, True),
        ("http://console.test:8090.evil.example", None, True),
        ("http://console.test:8090@evil.example", None, True),
        ("null", None, True),
        ("", None, True),
    ],
)
def test_only_the_consoles_own_origin_is_let_in(
    origin: str | None, public: str | None, refused: bool
) -> None:
    headers = [(b"Host", b"console.test:8090")]
    headers += [] if origin is None else [(b"Origin", origin.encode())]
    assert foreign(headers, public) is refused


@pytest.mark.parametrize(
    "path",
    [
        "https://evil.example",
        "//evil.example",
        "/documents/../",
        "/documents\\x",
        "/documentsx",
        "/sides/x",
        "/\r\nx",
    ],
)
def test_signing_in_leads_nowhere_but_to_the_pages(path: str) -> None:
    assert safe_next(path) == "/documents"
    for own in ("/documents/shop/pipes", "/sides"):
        assert safe_next(own) == own


def test_tokens_are_not_taken_in_the_clear_outside_of_loopback() -> None:
    given = {"api": "http://127.0.0.1:8096", "host": "0.0.0.0"}
    with pytest.raises(ValidationError, match="HIFI_PUBLIC_URL"):
        ConsoleSettings.model_validate(given)
    assert ConsoleSettings.model_validate(given | {"public_url": "https://c.example"}).tls

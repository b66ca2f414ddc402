"""Sessions of people signed in by an issuer: renewed, ended, and begun only by the same browser."""

import asyncio

import pytest
from pydantic import ValidationError

from pipelines.management.console.session import LIFE_MS, Identity, Sessions
from pipelines.management.console.settings import ConsoleSettings
from pipelines.management.console.signing_in.issuer_sign_in import SignIns
from pipelines.management.console.signing_in.sign_in import safe_next
from shared.contracts.api_answers.access import MembershipView
from shared.oidc.code_flow import SignedIn, new_sign_in
from shared.oidc.errors import ProviderAwayError, TokenRefusedError

TENANTS = (MembershipView(tenant="shop", role="owner"), MembershipView(tenant="toys", role="viewer"))
ANN = Identity(id="p1", tenants=TENANTS, expires_ms=300_000)
MINUTE = 60_000


def signed_in(until_s: int, refresh: str | None = "r1") -> SignedIn:
    return SignedIn(token=f"t{until_s}", claims={"sub": "u", "exp": until_s}, refresh_token=refresh)


class Issuer:
    """Renews tokens for five minutes; a test may set another answer."""

    def __init__(self) -> None:
        self.now, self.asked = 0, 0
        self.fails: Exception | None = None

    def clock(self) -> int:
        return self.now

    async def renew(self, former: SignedIn) -> SignedIn:
        self.asked += 1
        await asyncio.sleep(0)
        if self.fails is not None:
            raise self.fails
        return signed_in(self.now // 1_000 + 300, f"after {former.refresh_token}")


@pytest.fixture
def issuer() -> Issuer:
    return Issuer()


@pytest.fixture
def sessions(issuer: Issuer) -> Sessions:
    return Sessions(issuer.clock, issuer.renew)


def test_a_token_is_renewed_once_shortly_before_its_end_however_many_pages_ask(
    issuer: Issuer, sessions: Sessions
) -> None:
    mine = sessions.begin("t300", ANN, signed_in(300))

    async def pages() -> list[str | None]:
        found = await asyncio.gather(*(sessions.renewed(mine.id) for _ in range(8)))
        return [None if each is None else each.token for each in found]

    assert asyncio.run(pages()) == ["t300"] * 8 and issuer.asked == 0
    issuer.now = 5 * MINUTE - 30_000
    assert asyncio.run(pages()) == ["t570"] * 8 and issuer.asked == 1
    assert sessions.token(mine.id) == "t570"
    issuer.now = LIFE_MS
    assert asyncio.run(pages()) == [None] * 8


def test_a_session_ends_when_the_issuer_renews_no_more_and_waits_while_it_is_away(
    issuer: Issuer, sessions: Sessions
) -> None:
    mine = sessions.begin("t300", ANN, signed_in(300))
    issuer.now, issuer.fails = 6 * MINUTE, ProviderAwayError("away")
    with pytest.raises(ProviderAwayError):
        asyncio.run(sessions.renewed(mine.id))
    assert sessions.find(mine.id) is not None
    issuer.fails = TokenRefusedError("gone")
    assert asyncio.run(sessions.renewed(mine.id)) is None and sessions.find(mine.id) is None


def test_while_the_issuer_is_away_a_token_serves_until_its_end(issuer: Issuer, sessions: Sessions) -> None:
    mine = sessions.begin("t300", ANN, signed_in(300))
    issuer.now, issuer.fails = 299_999, ProviderAwayError("away")
    assert asyncio.run(sessions.renewed(mine.id)) == mine
    issuer.now = 300_000
    with pytest.raises(ProviderAwayError):
        asyncio.run(sessions.renewed(mine.id))


def test_without_a_refresh_token_a_session_ends_with_its_token(issuer: Issuer, sessions: Sessions) -> None:
    mine = sessions.begin("t300", ANN, signed_in(300, None))
    issuer.now = 299_000
    assert asyncio.run(sessions.renewed(mine.id)) == mine and issuer.asked == 0
    issuer.now = 300_000
    assert asyncio.run(sessions.renewed(mine.id)) is None


def test_a_secret_is_shown_once(sessions: Sessions) -> None:
    mine = sessions.begin("t", Identity(id="x", role="owner", tenant="shop"))
    assert sessions.taken(mine.id) is None
    sessions.show_once(mine.id, "secret")
    assert [sessions.taken(mine.id) for _ in range(2)] == ["secret", None]


def test_a_person_has_the_role_of_the_tenant_whose_page_it_sees() -> None:
    assert [ANN.within(name).role for name in ("shop", "toys", "other")] == ["owner", "viewer", None]
    operator = Identity(id="o", role="operator")
    assert operator.within("shop") == operator and operator.within("shop").manages


def test_a_sign_in_is_answered_by_its_browser_with_its_state_and_in_time(issuer: Issuer) -> None:
    sign_ins, sign_in = SignIns(issuer.clock), new_sign_in()
    name = sign_ins.begin(sign_in, "/documents")
    found = sign_ins.answered(name, sign_in.state)
    assert found is not None and found.sign_in == sign_in
    assert sign_ins.answered(sign_ins.begin(sign_in, "/documents"), "guess") is None
    for forged in (None, "", "x", "gAAAAA", name[:-2] + "AA", name.swapcase()):
        assert sign_ins.answered(forged, sign_in.state) is None
    assert sign_ins.answered(SignIns(issuer.clock).begin(sign_in, "/documents"), sign_in.state) is None
    late = sign_ins.begin(sign_in, "/documents")
    issuer.now += 600_000
    assert sign_ins.answered(late, sign_in.state) is None
    assert safe_next("/invitation") == "/invitation" and safe_next("/invitation/x") == "/documents"


def test_strangers_who_begin_many_sign_ins_do_not_end_those_of_others(issuer: Issuer) -> None:
    sign_ins, mine = SignIns(issuer.clock), new_sign_in()
    name = sign_ins.begin(mine, "/documents/shop")
    for _ in range(2_000):
        sign_ins.begin(new_sign_in(), "/documents")
    found = sign_ins.answered(name, mine.state)
    assert found is not None and (found.sign_in, found.after) == (mine, "/documents/shop")
    assert mine.verifier not in name and "/documents" not in name
    long = sign_ins.begin(mine, "/documents/" + "x" * 8_000)
    assert len(long) < 3_000
    found = sign_ins.answered(long, mine.state)
    assert found is not None and found.after == "/documents"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"oidc_issuer": "http://login.example"}, "use https"),
        ({"oidc_issuer": "login.example"}, "cannot be an issuer"),
        ({"oidc_issuer": "https://i.example"}, "HIFI_OIDC_CLIENT_ID and HIFI_PUBLIC_URL"),
        ({"oidc_client_secret": "hidden-secret"}, "set HIFI_OIDC_ISSUER"),
        (
            {
                "oidc_issuer": "https://i.example",
                "oidc_client_id": "c",
                "public_url": "https://c.example",
                "oidc_scopes": "email",
            },
            "HIFI_OIDC_SCOPES",
        ),
    ],
)
def test_wrong_settings_of_the_issuer_are_named_and_no_secret_is(more: dict[str, str], said: str) -> None:
    given = {"api": "http://127.0.0.1:8096", "oidc_client_secret": "hidden-secret"}
    with pytest.raises(ValidationError, match=said) as caught:
        ConsoleSettings.model_validate(given | more)
    assert "hidden-secret" not in str(caught.value)

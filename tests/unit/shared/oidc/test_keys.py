"""An issuer's keys in memory: known keys, new readings, and the effects of an absent issuer."""

import threading
from collections.abc import Callable, Sequence

import pytest
from joserfc.jwk import Key

from shared.oidc.errors import ProviderAwayError, TokenRefusedError
from shared.oidc.keys import AGAIN_SECONDS, FRESH_SECONDS, KeyCache
from tests.harness.oidc_provider import new_key
from tests.harness.waiting import eventually


class Issuer:
    """Publishes keys and counts reads, on the test's clock."""

    def __init__(self) -> None:
        self.keys = [new_key(), new_key()]
        self.away, self.reads, self.now = False, 0, 0.0

    def read(self) -> Sequence[Key]:
        self.reads += 1
        if self.away:
            raise ProviderAwayError("the issuer answers 500")
        return list(self.keys)


@pytest.fixture
def issuer() -> Issuer:
    return Issuer()


@pytest.fixture
def cache(issuer: Issuer) -> KeyCache:
    return KeyCache(issuer.read, lambda: issuer.now, lambda work: work())


def test_known_keys_are_read_once_and_again_when_they_are_old(issuer: Issuer, cache: KeyCache) -> None:
    for _ in range(3):
        assert [cache.find(key.kid).kid for key in issuer.keys] == [key.kid for key in issuer.keys]
    assert issuer.reads == 1
    gone = issuer.keys.pop()
    issuer.now = FRESH_SECONDS + 1
    assert cache.find(issuer.keys[0].kid) and issuer.reads == 2
    issuer.now += AGAIN_SECONDS
    with pytest.raises(TokenRefusedError):
        cache.find(gone.kid)


def test_a_new_key_is_found_and_an_unknown_one_is_looked_for_at_most_each_few_seconds(
    issuer: Issuer, cache: KeyCache
) -> None:
    cache.find(issuer.keys[0].kid)
    issuer.keys.append(new_key())
    for _ in range(9):
        with pytest.raises(ProviderAwayError, match="just now"):
            cache.find(issuer.keys[-1].kid)
    assert issuer.reads == 1
    issuer.now = AGAIN_SECONDS
    assert cache.find(issuer.keys[-1].kid).kid == issuer.keys[-1].kid
    issuer.now += AGAIN_SECONDS
    with pytest.raises(TokenRefusedError):
        cache.find("made-up")


def test_an_absent_issuer_stops_no_known_key_and_decides_about_no_unknown_one(
    issuer: Issuer, cache: KeyCache
) -> None:
    cache.find(issuer.keys[0].kid)
    issuer.away = True
    for turn in range(1, 5):
        issuer.now = turn * 10 * FRESH_SECONDS
        assert cache.find(issuer.keys[0].kid).kid == issuer.keys[0].kid
        with pytest.raises(ProviderAwayError, match="answers 500"):
            cache.find("unknown")
    issuer.away = False
    issuer.now += AGAIN_SECONDS
    with pytest.raises(TokenRefusedError):
        cache.find("unknown")


def test_a_token_without_a_key_id_is_the_only_keys(issuer: Issuer, cache: KeyCache) -> None:
    with pytest.raises(TokenRefusedError):
        cache.find(None)
    del issuer.keys[1]
    issuer.now = AGAIN_SECONDS
    assert cache.find(None).kid == issuer.keys[0].kid


def test_nobody_with_a_known_key_waits_for_old_keys_to_be_read_again(issuer: Issuer) -> None:
    waits: list[Callable[[], None]] = []
    keys = KeyCache(issuer.read, lambda: issuer.now, waits.append)
    keys.find(issuer.keys[0].kid)
    issuer.now = FRESH_SECONDS + 1
    for _ in range(5):
        assert keys.find(issuer.keys[0].kid) and issuer.reads == 1
    (read,) = waits
    read()
    assert keys.find(issuer.keys[0].kid) and (issuer.reads, len(waits)) == (2, 1)


def test_an_issuer_that_hangs_holds_a_few_requests_only(issuer: Issuer) -> None:
    hangs, said = threading.Event(), []

    def read() -> Sequence[Key]:
        assert hangs.wait(120)
        return issuer.keys

    def ask() -> None:
        try:
            said.append(keys.find(issuer.keys[0].kid).kid)
        except ProviderAwayError as error:
            said.append(str(error))

    keys = KeyCache(read, lambda: 0.0)
    asking = [threading.Thread(target=ask) for _ in range(12)]
    for thread in asking:
        thread.start()
    eventually(lambda: len(said) == 8, 60, "eight are refused while four wait")
    hangs.set()
    for thread in asking:
        thread.join(60)
    assert sorted(map(str, said)) == sorted(
        ["the issuer's keys are being read"] * 8 + [str(issuer.keys[0].kid)] * 4
    )


def test_keys_are_read_again_although_no_thread_could_be_started_for_it_once(issuer: Issuer) -> None:
    starts = iter([RuntimeError("can't start new thread"), None])

    def behind(work: Callable[[], None]) -> None:
        if error := next(starts):
            raise error
        work()

    cache = KeyCache(issuer.read, lambda: issuer.now, behind)
    known = issuer.keys[0].kid
    cache.find(known)
    issuer.now = FRESH_SECONDS + 1
    with pytest.raises(RuntimeError):
        cache.find(known)
    assert cache.find(known).kid == known and issuer.reads == 2

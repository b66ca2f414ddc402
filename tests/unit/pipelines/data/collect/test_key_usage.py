"""Which write keys are reported as used, and when."""

from collections.abc import Iterator

from pipelines.data.collect.key_usage import KeyUsage
from shared.contracts.documents import Source, key_digest
from shared.contracts.key_usage import REPORTED_MS, KeyUse, decode

BEGAN = 1_000_000_000


def used(usage: KeyUsage, name: str, at_ms: int) -> None:
    digest = key_digest(name)
    usage.note(Source(name=name, tenant="acme", write_keys=[digest]), digest, at_ms)


def reported(usage: KeyUsage, at_ms: int) -> Iterator[KeyUse]:
    return (each for value in usage.report(at_ms) for each in decode(value))


def test_a_key_is_reported_once_a_minute_however_often_it_is_used() -> None:
    usage, times = KeyUsage(), []
    for at_ms in range(BEGAN, BEGAN + 3 * REPORTED_MS, 2_000):
        used(usage, "shop", at_ms)
        times += [each.at_ms for each in reported(usage, at_ms)]
    assert times == [BEGAN, BEGAN + REPORTED_MS, BEGAN + 2 * REPORTED_MS]


def test_keys_of_sources_that_come_and_go_are_forgotten() -> None:
    usage = KeyUsage()
    for minute in range(1_000):
        at_ms = BEGAN + minute * REPORTED_MS
        used(usage, f"run-{minute}", at_ms)
        assert [each.source for each in reported(usage, at_ms)] == [f"run-{minute}"]
    assert len(usage) < 5

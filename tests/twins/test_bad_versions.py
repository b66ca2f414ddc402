"""Versions with one fault each are found and undone by themselves, without losing a customer's event.

Five faults show before a version has traffic. The others concern customers' events alone, so that only the
customers' cards, the canary and the machine can show them.
"""

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

from scripts.load.verify import DeliveryCheck
from shared.contracts.release_steps import Step
from shared.contracts.releases import Finding, Release
from tests.harness.bad_versions import Fault, bad_version
from tests.harness.live_twins import LiveTwins
from tests.harness.memory_recording import MemoryReading, heavy_since_ms, recorded_memory
from tests.harness.waiting import eventually
from tests.twins.customer import BATCH, RATE, Customer
from tests.twins.releases import REPLAYED, Releases

pytestmark = [pytest.mark.proof, pytest.mark.timeout(3_600)]

MOST_SECONDS: Final = 180
"""Seconds from the time when a version is bad until it has no traffic; see `_bad_since_ms`."""

_SHOWN_SECONDS: Final = 60

WITHOUT_TRAFFIC: Final[dict[Fault, tuple[Step, str]]] = {
    Fault.CRASHES: (
        Step.READY,
        # Or in the second in which it runs again: it does not answer.
        r"ended by themselves [3-9] times: .*"
        r"collect (is \w+|does not .* 200) \(RuntimeError: no zone is set\)",
    ),
    Fault.REWRITES: (Step.PROVE, r"of \d+ events for proof \d+ arrived with other bytes"),
    Fault.REFUSES: (Step.PREFLIGHT, r"refuses \d+ of \d+ records of events; .* refuses 0"),
    Fault.FORGETS: (Step.PREFLIGHT, r"its query transmit does not read retry_out, of which the checkpoint"),
    Fault.SPLITS: (
        Step.READY,
        # Spark misses either the second source's offsets or a topic of the first source.
        r"ended by themselves [3-9] times: .*spark\W.*(\[1\] sources in the checkpoint|failOnDataLoss)",
    ),
}
"""The step in which the fault is found, and the words for it."""

WITH_TRAFFIC: Final[dict[Fault, str]] = {
    # Undelivered events count as late until they are known to be lost: a loss may show in `settle` only.
    Fault.SLOWER: r"% of [\d,]+ events are late, against",
    Fault.DROPS: r"\d+ events are lost",
    Fault.DOUBLES: r"% of [\d,]+ events are doubled, against",
    Fault.GARBAGE: r"\d+ events arrived changed",
    Fault.LEAKS: r"memory: [\d,]+ MiB against",
}

_TO_REPLAY: Final = frozenset({Fault.DROPS, Fault.GARBAGE})
"""Faults after which the events that passed through must be processed again."""


@pytest.fixture(scope="module")
def releases(live: LiveTwins) -> Releases:
    """Releases on sides that have both run: the dark one has checkpoints that a version can continue from."""
    found = Releases(live)
    if not all((side.checkpoints / "transmit").is_dir() for side in live.twins.sides):
        found.run("switch")
    return found


@pytest.mark.parametrize("fault", WITHOUT_TRAFFIC, ids=lambda fault: fault.name.lower())
def test_a_version_that_cannot_run_is_found_before_it_has_traffic(
    fault: Fault, live: LiveTwins, releases: Releases, tmp_path: Path
) -> None:
    step, words = WITHOUT_TRAFFIC[fault]
    release, _, check = _undone(fault, live, releases, tmp_path)
    assert re.search(words, release.back), release.back
    assert _forward(release)[-1] is step
    assert not release.carried
    assert check.duplicated == 0


@pytest.mark.parametrize("fault", WITH_TRAFFIC, ids=lambda fault: fault.name.lower())
def test_a_version_that_is_bad_for_customers_is_undone_within_minutes(
    fault: Fault, live: LiveTwins, releases: Releases, tmp_path: Path
) -> None:
    with recorded_memory(live.chain_memory_bytes) as memory:
        release, customer, check = _undone(fault, live, releases, tmp_path)
    assert release.verdicts[-1].finding is Finding.BAD
    reasons = [release.back, *(each.said for each in release.log if each.step is Step.SETTLE)]
    assert any(re.search(WITH_TRAFFIC[fault], each) for each in reasons), reasons
    assert release.replay == (fault in _TO_REPLAY)
    back_ms = next(each.until_ms for each in release.log if each.step is Step.GIVE_BACK)
    bad_ms = _bad_since_ms(fault, release, [each for each in memory if each.at_ms <= back_ms])
    seconds, whole = ((at_ms - bad_ms) / 1_000 for at_ms in (back_ms, release.since_ms))
    sys.stdout.write(
        f"{fault}: without traffic after {seconds:.0f} s, its side put right after {whole:.0f} s\n"
    )
    assert seconds <= MOST_SECONDS
    if fault in _TO_REPLAY:
        assert next(each.said for each in release.log if each.step is Step.REWIND) == REPLAYED
    assert (customer.data.changed > 0) == (fault is Fault.GARBAGE), "only once, and put right by the replay"
    assert check.duplicated or fault not in (*_TO_REPLAY, Fault.DOUBLES)


def _undone(
    fault: Fault, live: LiveTwins, releases: Releases, folder: Path
) -> tuple[Release, Customer, DeliveryCheck]:
    """The undone release of a bad version under a customer's load, after all its effects were repaired."""
    customer = Customer(live, fault.name.lower(), folder, RATE, BATCH)
    with customer.busy():
        release = releases.undone_by_itself(bad_version(fault))
        served = (release.former_version, 100, False)
        eventually(
            lambda: releases.serving()[release.former] == served, _SHOWN_SECONDS, "it serves as before"
        )
        assert releases.serving()[release.target][1:] == (0, True)
        customer.steady()
    check = customer.check()
    assert check.lost == ()
    return release, customer, check


def _bad_since_ms(fault: Fault, release: Release, memory: Sequence[MemoryReading]) -> int:
    """When a version became bad, epoch milliseconds: with its first traffic, unless it leaks.

    A leak is bad from the first minute in which it needs too much, by the test's own readings, which do not
    depend on when the deployer found it.
    """
    traffic_ms = next(each.since_ms for each in release.log if each.step is Step.CANARY)
    if fault is not Fault.LEAKS:
        return traffic_ms
    known = [each for each in memory if each.at_ms >= traffic_ms]
    return heavy_since_ms(known, release.target, release.former, traffic_ms)


def _forward(release: Release) -> list[Step]:
    return [each.step for each in release.log if each.step in release.plan]

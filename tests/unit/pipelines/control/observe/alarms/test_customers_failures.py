"""Failures that only a customer can repair are shown to that customer, with likely cause and fix."""

import pytest

from pipelines.control.observe.alarms.history import History
from pipelines.control.observe.alarms.inputs import StoppedRollout, TransitionKind
from pipelines.control.observe.alarms.lifecycle import AlarmState, AlarmTiming, step
from pipelines.control.observe.alarms.rules import evaluate
from shared.contracts.alarms import AlarmKind, Audience
from shared.contracts.documents import Catalogue
from tests.unit.pipelines.control.observe.alarm_inputs import (
    NOW,
    PUBLISHED,
    destination,
    found,
    inputs,
    settings,
)


@pytest.mark.parametrize(
    ("reason", "subject", "said"),
    [
        (
            "401 refused",
            "hook 401",
            "answered 401 for 7 events in the last minutes: the key is missing, has changed",
        ),
        ("404 refused", "hook 404", "answered 404"),
        ("302 redirect", "hook 302", "redirects are not followed"),
        ("409 refused", "hook 409", "correct what the endpoint refuses"),
        ("403 refused", "hook 403", "the key has changed, or may not do this"),
        ("413 refused", "hook 413", "a single event is too large for it (larger requests are halved"),
        ("415 refused", "hook 415", "choose another format"),
        ("422 refused", "hook 422", "its schema refuses the event"),
        ("- refused_address", "hook refused_address", "public address"),
        ("- too_many_brokers", "hook too_many_brokers", "fewer brokers"),
        ("- too_many_clusters", "hook too_many_clusters", "let destinations share them"),
        ("- transform_failed", "hook transform_failed", "correct the pipe's transform"),
    ],
)
def test_a_customers_own_failure_is_for_the_customer(reason: str, subject: str, said: str) -> None:
    (finding,) = found(inputs(destinations=[destination(failed=7, reasons={reason: 7})]))
    assert (finding.kind, finding.audience) == (AlarmKind.CUSTOMER, Audience.CUSTOMER)
    assert (finding.tenant, finding.subject) == ("shop", subject)
    assert "destination hook (pipe orders)" in finding.text
    assert said in finding.text
    assert finding.cause and finding.fix
    assert finding.text.endswith(f": {finding.cause}: {finding.fix}")
    assert finding.document == "destination/hook"


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("dns_failed", "its host name does not resolve: correct the URL"),
        ("certificate_expired", "its TLS certificate has expired: renew it"),
        ("certificate_refused", "not for this host"),
        ("tls_failed", "enable TLS"),
        ("connection_refused", "start the endpoint"),
    ],
)
def test_a_destination_that_no_connection_reaches_any_more_is_its_customers_to_repair(
    word: str, said: str
) -> None:
    down = destination(delivered=0, failed=7, reasons={f"- {word}": 7})
    other = destination("other")
    (finding,) = found(inputs(destinations=[down, other]))
    assert (finding.audience, finding.subject) == (Audience.CUSTOMER, f"hook {word}")
    assert f"failed with {word} for 7 events in the last minutes: " in finding.text
    assert said in finding.text
    assert finding.cause and finding.fix
    assert found(inputs(destinations=[destination(failed=7, reasons={f"- {word}": 7}), other])) == []
    nothing_arrives = destination("other", delivered=0)
    assert found(inputs(destinations=[down, nothing_arrives])) == [], "it may be hifi that reaches nobody"


@pytest.mark.parametrize("reason", ["429 refused", "408 refused", "503 failed", "- timeout", "- internal"])
def test_transient_failures_and_hifis_own_are_not_sent_to_customers(reason: str) -> None:
    assert found(inputs(destinations=[destination(failed=7, reasons={reason: 7})])) == []


TIMING = AlarmTiming(hold_ms=0, relapse_ms=600_000, update_ms=300_000)
STOPPED = StoppedRollout(tenant="shop", pipe="orders", share=1, reason="fewer than 95 % were good")
Tracked = dict[str, AlarmState]


def looked(
    tracked: Tracked, catalogue: Catalogue | None, now_ms: int, failed: int = 7
) -> tuple[Tracked, list[TransitionKind]]:
    """One pass of the rules over a failing destination and a stopped rollout."""
    hook = destination(failed=failed, reasons={"401 refused": failed})
    failing = inputs(destinations=[hook], stopped=[STOPPED])
    evaluation = evaluate(failing, History(), catalogue, settings())
    after, transitions = step(tracked, evaluation, [], TIMING, now_ms)
    return after, [each.change for each in transitions]


def test_customers_failures_are_found_only_once_their_contacts_are_known() -> None:
    assert looked({}, None, NOW) == ({}, []), "opened now, no contact would get them"
    opened, changes = looked({}, PUBLISHED, NOW + 1)
    assert changes == [TransitionKind.OPENED] * 2
    assert looked(opened, None, NOW + 2) == (opened, []), "nothing is known to be over"


def test_an_update_that_is_due_waits_until_the_contacts_are_known() -> None:
    """For example after a restart, for a text that changed shortly before and stays as it is."""
    tracked, _ = looked({}, PUBLISHED, NOW)
    tracked, changes = looked(tracked, PUBLISHED, NOW + 1, failed=8)
    assert changes == []
    tracked, changes = looked(tracked, None, NOW + TIMING.update_ms, failed=8)
    assert changes == []
    tracked, changes = looked(tracked, PUBLISHED, NOW + TIMING.update_ms + 1, failed=8)
    assert changes == [TransitionKind.UPDATED]

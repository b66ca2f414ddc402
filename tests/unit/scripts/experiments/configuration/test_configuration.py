"""The experiment's documents are valid, and its figures fail if a change takes too long."""

import pytest

from scripts.documents.bundle import Wanted, parts
from scripts.experiments.configuration.__main__ import IN_FORCE_SECONDS, UnderLoad, bounds
from scripts.experiments.configuration.changes import Change, in_words
from scripts.experiments.configuration.many import documents_of
from scripts.experiments.harness.bounds import BrokenBoundError, check
from scripts.experiments.harness.runs import Load, Run, Sent
from shared.contracts.document_items import MOST_CHANGES
from shared.contracts.documents import Catalogue, Entry, Pipe
from shared.contracts.publish_plan import document_key


def _under_load(*in_force: float, lost: int = 0) -> UnderLoad:
    run = Run(
        load=Load(rate=1, batch=1, seconds=1),
        sent=Sent(events=1, acked=1, seconds=1, slip_p99_ms=0),
        lag=None,
        delivered=1,
        waiting=0,
        lost=lost,
        duplicated=0,
        cpu={},
    )
    changes = [Change(published=1, in_force=each) for each in in_force]
    return UnderLoad(run=run, changes=changes, megabytes={}, ready_seconds=1)


def test_the_documents_of_a_tenant_fit_each_other_and_one_write() -> None:
    documents = documents_of("tenant-00001", 10, "https://example.com/")
    entries = {document_key(each): Entry(version=1, document=each) for each in documents}
    assert not [problem for each in documents for problem in Catalogue(entries).problems(each)]
    assert sum(isinstance(each, Pipe) for each in documents) == 10
    assert len(documents) <= MOST_CHANGES
    assert len(list(parts(Wanted(document=each) for each in documents))) == 1


@pytest.mark.parametrize("found", [_under_load(1.0, 5.1), _under_load(1.0, lost=1), _under_load()])
def test_a_slow_change_a_lost_event_and_no_change_at_all_break_a_bound(found: UnderLoad) -> None:
    check(bounds(_under_load(4.9), IN_FORCE_SECONDS))
    with pytest.raises(BrokenBoundError):
        check(bounds(found, IN_FORCE_SECONDS))


def test_the_times_of_changes_are_said_with_their_unit() -> None:
    said = in_words([Change(published=at, in_force=at + 1) for at in (1.0, 2.0, 3.0)])
    assert said == (
        "3 changes: published after 2.0 s in the median (p95 3.0 s), "
        "in force after 3.0 s (p95 4.0 s, at most 4.0 s)"
    )

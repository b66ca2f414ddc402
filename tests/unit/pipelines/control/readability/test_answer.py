"""A version is refused for records that it reads worse than the serving version."""

from pipelines.control.readability.answer import Reading, more_refused

OLD = Reading(refused={"events": 2}, records={"events": 100, "outbound": 50})


def test_records_that_both_versions_refuse_are_no_obstacle() -> None:
    assert more_refused(OLD, OLD) == []


def test_more_refused_records_and_strange_checkpoints_are_named() -> None:
    new = Reading(
        refused={"events": 3, "outbound": 1},
        records=OLD.records,
        checkpoints=["it has no query route, of which the side has a checkpoint"],
    )
    assert more_refused(new, OLD) == [
        "refuses 3 of 100 records of events; the version that serves refuses 2",
        "refuses 1 of 50 records of outbound; the version that serves refuses 0",
        "cannot go on from the checkpoints of the side: it has no query route, of which the side has a "
        "checkpoint",
    ]

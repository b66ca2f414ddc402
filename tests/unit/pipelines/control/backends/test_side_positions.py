"""Positions of a side that never ran, was recreated, or has unreadable checkpoints."""

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from pipelines.control.backends.checkpoints import query_positions, write_checkpoint
from pipelines.control.backends.restoring import unmarked
from pipelines.control.backends.side_positions import readable_side_positions, side_positions
from pipelines.control.deploy.replays import replay_positions
from pipelines.control.deploy.rewinding import rewind
from scripts.local.twins.folder_checkpoints import FolderCheckpoints
from shared.contracts.release_steps import Kind, Step
from shared.contracts.releases import Positions, Release
from shared.contracts.replay_range import REPLAY_FILE, encode_replay_range, replay_of
from shared.contracts.topology import CHAIN_QUERIES, INPUTS
from shared.kafka.offset_range_reader import OffsetRange
from shared.kafka.progress_group import group_name
from tests.harness.fake_place import FakePlace

FIRST = 5
"""The first offset that each topic still holds."""

OF_THE_OLD_BROKERS = 5_000_000


class Brokers:
    """Brokers with one partition in each topic."""

    def __init__(
        self,
        committed: dict[str, dict[str, int]] | None = None,
        *,
        missing: Iterable[str] = (),
        first: int = FIRST,
        end: int = FIRST + 9,
    ) -> None:
        self._committed, self._missing = committed or {}, set(missing)
        self._first, self._end = first, end

    def held(self, topics: Iterable[str]) -> dict[str, OffsetRange]:
        there = set(topics) - self._missing
        return {f"{topic}/0": OffsetRange(topic, 0, self._first, self._end) for topic in there}

    def committed(self) -> dict[str, dict[str, int]]:
        return self._committed


class Rewound(FakePlace):
    """Remembers the position to which a side was set back."""

    def __init__(self) -> None:
        super().__init__(lambda: 0)
        self.set_to: Positions | None = None

    def restore(self, side: str, positions: Positions, *, replayed: Positions | None, fence: int) -> None:
        self.set_to = positions


@pytest.fixture
def checkpoints(tmp_path: Path) -> FolderCheckpoints:
    return FolderCheckpoints(tmp_path)


def test_a_side_that_has_never_run_stands_at_the_first_records_of_its_topics(
    checkpoints: FolderCheckpoints,
) -> None:
    found = side_positions(Brokers(), checkpoints)
    wanted = {query: {f"{topic}/0": FIRST for topic in INPUTS[query]} for query in CHAIN_QUERIES}
    assert found.queries == wanted
    assert found.groups == {group_name(query): offsets for query, offsets in wanted.items()}
    assert readable_side_positions(Brokers(), checkpoints) == found


def test_the_first_release_to_a_side_can_be_replayed(checkpoints: FolderCheckpoints) -> None:
    snapshot = side_positions(Brokers(), checkpoints)
    for query in CHAIN_QUERIES:
        write_checkpoint(checkpoints, query, {f"{topic}/0": FIRST + 9 for topic in INPUTS[query]})
    group = group_name("ingest")
    left_at = side_positions(Brokers({group: {"collected/0": FIRST + 9}}), checkpoints)
    begin = replay_positions(snapshot, left_at)
    assert unmarked(begin, left_at) == ""
    assert begin.queries["ingest"] == begin.groups[group] == {"collected/0": FIRST}


def test_a_query_with_a_checkpoint_stands_there_and_what_a_group_has_committed_counts(
    checkpoints: FolderCheckpoints,
) -> None:
    write_checkpoint(checkpoints, "route", {"events/0": 8})
    groups = {group_name("route"): {"events/0": 7}, group_name("retry"): {"retry_in.5m/0": 3}}
    found = side_positions(Brokers(groups), checkpoints)
    assert found.queries["route"] == {"events/0": 8}
    assert {name: found.groups[name] for name in groups} == groups


def test_a_query_whose_topics_are_not_there_yet_stands_nowhere(checkpoints: FolderCheckpoints) -> None:
    found = side_positions(Brokers(missing=INPUTS["transmit_slow"]), checkpoints)
    assert set(found.queries) == set(CHAIN_QUERIES) - {"transmit_slow"}


@pytest.fixture
def outlived(checkpoints: FolderCheckpoints) -> FolderCheckpoints:
    """Checkpoints of a destroyed side: the bucket keeps them for the recreated one."""
    for query in CHAIN_QUERIES:
        write_checkpoint(checkpoints, query, {f"{topic}/0": OF_THE_OLD_BROKERS for topic in INPUTS[query]})
    return checkpoints


def test_a_checkpoint_beyond_the_end_of_its_topic_does_not_count(outlived: FolderCheckpoints) -> None:
    """A query that starts with it sets it aside and begins with the first record."""
    brokers = Brokers(first=0, end=0)
    found = side_positions(brokers, outlived)
    wanted = {query: {f"{topic}/0": 0 for topic in INPUTS[query]} for query in CHAIN_QUERIES}
    assert found.queries == wanted
    assert found.groups == {group_name(query): offsets for query, offsets in wanted.items()}
    assert readable_side_positions(brokers, outlived) == found


def test_a_checkpoint_counts_up_to_the_end_of_its_topic(checkpoints: FolderCheckpoints) -> None:
    write_checkpoint(checkpoints, "transmit", {"outbound/0": FIRST + 9, "retry_out/0": FIRST + 10})
    found = side_positions(Brokers(), checkpoints)
    assert found.queries["transmit"] == {"outbound/0": FIRST + 9, "retry_out/0": FIRST}


def test_a_checkpoint_of_records_that_are_gone_and_of_partitions_that_are_not_known_yet_stays(
    checkpoints: FolderCheckpoints,
) -> None:
    """The query reports missing records at its start; a broker that just started may lack partitions."""
    written = {"events/0": FIRST - 1, "events/1": 8}
    write_checkpoint(checkpoints, "route", written)
    assert side_positions(Brokers(), checkpoints).queries["route"] == written


def test_a_side_that_was_made_anew_and_has_no_topics_yet_stands_nowhere(outlived: FolderCheckpoints) -> None:
    brokers = Brokers(missing={topic for query in CHAIN_QUERIES for topic in INPUTS[query]})
    assert side_positions(brokers, outlived).queries == {}


@pytest.mark.parametrize("missing", [(), {topic for query in CHAIN_QUERIES for topic in INPUTS[query]}])
def test_a_release_to_a_side_that_was_made_anew_is_undone_without_sending_all_of_it_again(
    outlived: FolderCheckpoints, missing: Iterable[str]
) -> None:
    snapshot = side_positions(Brokers(first=0, end=0, missing=missing), outlived)
    for query in CHAIN_QUERIES:  # as the version recreated them
        write_checkpoint(outlived, query, {f"{topic}/0": 10_000 for topic in INPUTS[query]})
    left_at = side_positions(Brokers(first=0, end=12_000), outlived)
    release = Release(
        number=1,
        kind=Kind.DEPLOY,
        step=Step.REWIND,
        since_ms=0,
        asked_by="",
        asked_ms=0,
        target="green",
        snapshot=snapshot,
        left_at=left_at,
    )
    place = Rewound()
    assert rewind(lambda: place, release) == "goes on from where it was stopped"
    assert place.set_to == left_at


def test_a_checkpoint_that_cannot_be_understood_is_not_taken_for_one_that_is_missing(
    checkpoints: FolderCheckpoints, tmp_path: Path
) -> None:
    write_checkpoint(checkpoints, "ingest", {"collected/0": 8})
    (tmp_path / "ingest" / "sources" / "0" / "0").write_text(json.dumps("garbage"))
    found = readable_side_positions(Brokers(), checkpoints)
    assert set(found.queries) == set(CHAIN_QUERIES) - {"ingest"}
    with pytest.raises(ValueError, match="not found"):
        side_positions(Brokers(), checkpoints)


def test_what_is_replayed_is_known_though_who_set_a_checkpoint_back_was_killed(
    checkpoints: FolderCheckpoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The deployer may be killed at any of the renames by which one takes the other's place."""
    replay = replay_of({}, {"collected": {"0": 7}})
    write_checkpoint(checkpoints, "ingest", {"collected/0": 4}, replay)
    rename, fatal = Path.rename, ["ingest.new", "ingest"]

    def killed(path: Path, target: Path) -> Path:
        if fatal and path.name == fatal[-1]:
            raise KeyboardInterrupt
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", killed)
    while fatal:
        with pytest.raises(KeyboardInterrupt):
            write_checkpoint(checkpoints, "ingest", {"collected/0": 5}, replay)
        assert checkpoints.read("ingest", REPLAY_FILE) == encode_replay_range(replay)
        assert query_positions(checkpoints) == {"ingest": {"collected/0": 4}}
        fatal.pop()
    write_checkpoint(checkpoints, "ingest", {"collected/0": 5}, replay)
    assert query_positions(checkpoints) == {"ingest": {"collected/0": 5}}

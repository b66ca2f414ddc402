"""Where a side stands that has never run, or has checkpoints that cannot be understood."""

import json
from pathlib import Path

import pytest

from pipelines.control.backends.checkpoints import query_positions, write_checkpoint
from pipelines.control.backends.restoring import unmarked
from pipelines.control.backends.side_positions import readable_side_positions, side_positions
from pipelines.control.deploy.replays import replay_positions
from scripts.local.twins.folder_checkpoints import FolderCheckpoints
from shared.contracts.replay_range import REPLAY_FILE, encode_replay_range, replay_of
from shared.contracts.topology import CHAIN_QUERIES, INPUTS
from shared.kafka.progress_group import group_name

FIRST = 5
"""The first offset that each topic still holds."""


class Brokers:
    """Each topic has one partition."""

    def __init__(self, committed: dict[str, dict[str, int]] | None = None, missing: str = "") -> None:
        self._committed, self._missing = committed or {}, missing

    def first(self, query: str) -> dict[str, int]:
        return {} if query == self._missing else {f"{topic}/0": FIRST for topic in INPUTS[query]}

    def committed(self) -> dict[str, dict[str, int]]:
        return self._committed


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
    found = side_positions(Brokers(missing="transmit_slow"), checkpoints)
    assert set(found.queries) == set(CHAIN_QUERIES) - {"transmit_slow"}


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
    """Killed at any of the renames by which one takes the place of the other."""
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

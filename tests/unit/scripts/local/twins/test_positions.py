"""Checkpoints of Spark's Kafka source are read and rewritten."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.control.backends.checkpoints import query_positions, write_checkpoint
from pipelines.control.backends.restoring import restore_side, unmarked
from scripts.local.twins.folder_checkpoints import FolderCheckpoints
from shared.contracts.releases import Positions
from shared.contracts.replay_range import REPLAY_FILE, decode_replay_range, replay_of

_OFFSETS = st.dictionaries(
    st.tuples(st.sampled_from(["outbound", "retry_out"]), st.integers(0, 9)),
    st.integers(0, 2**40),
    min_size=1,
)


def _batch(folder: Path, number: int, offsets: str, *, committed: bool) -> None:
    for name in ("offsets", "commits"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "offsets" / str(number)).write_text(f'v1\n{{"conf":{{"a":"b"}}}}\n{offsets}')
    if committed:
        (folder / "commits" / str(number)).write_text("v1\n{}")


def test_a_query_stands_where_its_last_committed_batch_ended(tmp_path: Path) -> None:
    _batch(tmp_path / "ingest", 9, '{"collected":{"0":5,"1":7}}', committed=True)
    _batch(tmp_path / "ingest", 10, '{"collected":{"0":8,"1":9}}', committed=True)
    _batch(tmp_path / "ingest", 11, '{"collected":{"0":99,"1":99}}', committed=False)
    (tmp_path / "ingest" / "offsets" / ".11.crc").write_bytes(b"crc")
    assert query_positions(FolderCheckpoints(tmp_path)) == {"ingest": {"collected/0": 8, "collected/1": 9}}


def test_a_query_without_a_finished_batch_stands_where_it_first_started(tmp_path: Path) -> None:
    first = tmp_path / "route" / "sources" / "0" / "0"
    first.parent.mkdir(parents=True)
    first.write_bytes(b'\0v1\n{"events":{"0":3}}')
    _batch(tmp_path / "route", 0, '{"events":{"0":50}}', committed=False)
    assert query_positions(FolderCheckpoints(tmp_path)) == {"route": {"events/0": 3}}


def test_an_expired_or_unknown_folder_is_no_query(tmp_path: Path) -> None:
    _batch(tmp_path / "ingest.expired-123", 1, '{"collected":{"0":5}}', committed=True)
    (tmp_path / "transmit").mkdir()
    assert query_positions(FolderCheckpoints(tmp_path)) == {}


def test_a_replay_is_said_in_the_checkpoint_and_is_gone_with_it(tmp_path: Path) -> None:
    replay = replay_of({"collected": {"0": 3}}, {"collected": {"0": 5}})
    write_checkpoint(FolderCheckpoints(tmp_path), "ingest", {"collected/0": 3}, replay)
    assert decode_replay_range((tmp_path / "ingest" / REPLAY_FILE).read_bytes()) == replay
    assert query_positions(FolderCheckpoints(tmp_path)) == {"ingest": {"collected/0": 3}}
    write_checkpoint(FolderCheckpoints(tmp_path), "ingest", {"collected/0": 3})
    assert not (tmp_path / "ingest" / REPLAY_FILE).exists()


def test_a_replay_that_is_not_over_goes_on_when_the_checkpoint_is_made_anew(tmp_path: Path) -> None:
    store, replay = FolderCheckpoints(tmp_path), replay_of({"collected": {"0": 3}}, {"collected": {"0": 9}})
    write_checkpoint(store, "ingest", {"collected/0": 3}, replay)
    for offset, left in ((5, True), (9, False)):
        stood = Positions(queries={"ingest": {"collected/0": offset}})
        for _ in range(2):
            restore_side("no broker is asked", store, stood, None, marks=True)
            assert query_positions(store) == stood.queries
            assert (tmp_path / "ingest" / REPLAY_FILE).exists() == left
    write_checkpoint(store, "ingest", {"collected/0": 3})
    (tmp_path / "ingest" / REPLAY_FILE).write_text("garbage")
    restore_side("no broker is asked", store, stood, None, marks=True)
    assert not (tmp_path / "ingest" / REPLAY_FILE).exists()


def test_the_meter_is_not_set_back_but_goes_on_where_its_ledger_ends(tmp_path: Path) -> None:
    store = FolderCheckpoints(tmp_path)
    _batch(tmp_path / "audit", 4, '{"collected":{"0":9}}', committed=True)
    _batch(tmp_path / "ingest", 4, '{"collected":{"0":9}}', committed=True)
    assert query_positions(store) == {"ingest": {"collected/0": 9}}
    back = Positions(queries={"ingest": {"collected/0": 5}})
    for _ in range(2):
        restore_side("no broker is asked", store, back, None, marks=True)
        assert query_positions(store, ["audit", "ingest"]) == {"ingest": {"collected/0": 5}}


@given(_OFFSETS, _OFFSETS)
def test_only_ingest_may_go_back_in_a_replay(
    begin: dict[tuple[str, int], int], reached: dict[tuple[str, int], int]
) -> None:
    own = {"ingest": {"collected/0": 0}}
    stood = {f"{topic}/{partition}": offset for (topic, partition), offset in reached.items()}
    wanted = {f"{topic}/{partition}": offset for (topic, partition), offset in begin.items()}
    at = Positions(queries={"ingest": {"collected/0": 9}, "transmit": stood})
    problem = unmarked(Positions(queries=own | {"transmit": wanted}), at)
    assert bool(problem) == any(offset < stood.get(name, 0) for name, offset in wanted.items())
    assert unmarked(Positions(queries=own | {"transmit": stood}), at) == ""
    assert unmarked(Positions(queries={"transmit": stood}), at)


def test_a_checkpoint_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    _batch(tmp_path / "ingest", 1, "garbage", committed=True)
    (tmp_path / "ingest" / "offsets" / "1").write_text("garbage")
    with pytest.raises(ValueError, match="not found"):
        query_positions(FolderCheckpoints(tmp_path))


@given(offsets=_OFFSETS)
def test_what_is_written_is_read(
    offsets: dict[tuple[str, int], int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("checkpoints")
    wanted = {f"{topic}/{partition}": offset for (topic, partition), offset in offsets.items()}
    _batch(folder / "transmit", 4, '{"outbound":{"0":1}}', committed=True)
    write_checkpoint(FolderCheckpoints(folder), "transmit", wanted)
    assert query_positions(FolderCheckpoints(folder)) == {"transmit": wanted}

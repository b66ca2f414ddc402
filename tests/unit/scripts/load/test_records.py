"""Records of senders and receivers survive being written and read."""

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from scripts.load.records import Acked, Received, acked_lines, read_acked, read_received, received_lines

ids = st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=12), max_size=8)


@given(ids, st.integers(0, 2**41))
def test_acknowledged_ids_are_read_as_they_were_written(names: list[str], acked_ms: int) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "acked.tsv"
        path.write_bytes(acked_lines(names, acked_ms).encode())
        assert list(read_acked(path)) == [Acked(name, acked_ms) for name in names]


@given(ids, st.data())
def test_arrivals_are_read_as_they_were_written(names: list[str], data: st.DataObject) -> None:
    lags = [data.draw(st.none() | st.integers(-5_000, 10**9)) for _ in names]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "received.tsv"
        path.write_bytes(received_lines(names, 7, lags).encode())
        expected = [Received(name, 7, lag) for name, lag in zip(names, lags, strict=True)]
        assert list(read_received(path)) == expected


def test_a_line_cut_off_by_a_kill_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "acked.tsv"
    path.write_text("a\t1\nb\t12")
    assert [record.event_id for record in read_acked(path)] == ["a"]

"""A version's obstacles on a local side are found before any of its programs starts."""

from pathlib import Path

from scripts.local.side import Code, Side
from scripts.local.twins.obstacles import version_obstacles
from scripts.local.twins.versions import checkout_version, commit_of


def test_a_checkpoint_that_cannot_be_read_is_an_obstacle_before_anything_is_started(tmp_path: Path) -> None:
    target = Side(root=tmp_path, port=9)
    offsets = target.checkpoints / "route" / "offsets"
    offsets.mkdir(parents=True)
    (offsets.parent / "commits").mkdir()
    for log in (offsets, offsets.parent / "commits"):
        (log / "0").write_bytes(b"v9")
    (found,) = version_obstacles(checkout_version(), tmp_path, target, Side(root=tmp_path, port=9))
    assert found.lasting
    assert "cannot read the checkpoints of" in found.text


def test_a_version_that_both_sides_have_run_is_not_read_again(tmp_path: Path) -> None:
    version = checkout_version()
    sides = [Side(root=tmp_path, port=9, name=name, code=Code(version=version)) for name in ("blue", "green")]
    assert version_obstacles(version, tmp_path, *sides) == []


def test_a_name_that_may_move_is_refused_with_the_commit_to_name(tmp_path: Path) -> None:
    side = Side(root=tmp_path, port=9)
    (found,) = version_obstacles("HEAD", tmp_path, side, side)
    assert found.lasting
    assert found.text == f"HEAD may come to mean another commit: deploy its commit, {commit_of('HEAD')}"

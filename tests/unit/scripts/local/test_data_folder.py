"""The contents that `hifi up` accepts in its data folder."""

from pathlib import Path

import pytest

from scripts.local.data_folder import DataFolderError, check_side_folder
from scripts.local.side import Side
from scripts.local.twins.place import Twins, check_folder
from scripts.local.twins.traffic import LocalTraffic


@pytest.mark.parametrize("name", ["tmp", "checkpoints", "src"])
def test_a_users_own_folder_is_refused_and_left_as_it_is(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    with pytest.raises(DataFolderError, match=rf"not hifi's \({name}\): name a new folder by --data"):
        check_side_folder(Side(root=tmp_path))
    with pytest.raises(DataFolderError, match=r"not hifi's"):
        check_folder(Twins(root=tmp_path))
    assert [each.name for each in tmp_path.iterdir()] == [name]


def test_a_new_folder_is_made_with_those_above_it(tmp_path: Path) -> None:
    side, twins = Side(root=tmp_path / "a" / "side"), Twins(root=tmp_path / "b" / "twins")
    check_side_folder(side)
    check_folder(twins)
    assert side.root.is_dir()
    assert twins.root.is_dir()


def test_secrets_written_before_the_first_start_and_a_refused_start_are_no_obstacle(tmp_path: Path) -> None:
    side = Side(root=tmp_path)
    side.secrets.write_text("acme/token: text")
    check_side_folder(side)
    check_side_folder(side)


def test_a_side_starts_again_in_its_folder_also_without_its_description(tmp_path: Path) -> None:
    side = Side(root=tmp_path)
    side.create()
    check_side_folder(side)
    (tmp_path / "brokers").mkdir()
    (tmp_path / "brokers" / "cluster.id").write_text("id")
    side.description.unlink()  # as `hifi doctor` advises for an unreadable one
    check_side_folder(side)


def test_twins_start_again_in_their_folder_also_without_their_description(tmp_path: Path) -> None:
    twins = Twins(root=tmp_path)
    twins.create()
    LocalTraffic(twins).prepare()
    for side in twins.sides:
        side.logs.mkdir(parents=True)  # left by an interrupted start
        check_side_folder(side)
    twins.description.unlink()
    check_folder(twins)


def test_twins_are_refused_the_folder_of_a_side(tmp_path: Path) -> None:
    Side(root=tmp_path).create()
    with pytest.raises(DataFolderError, match=r"belongs to a side by itself"):
        check_folder(Twins(root=tmp_path))


def test_one_of_two_sides_is_not_started_by_itself(tmp_path: Path) -> None:
    twins = Twins(root=tmp_path)
    blue = twins.side("blue")
    blue.create()
    with pytest.raises(DataFolderError, match=rf"start both by `hifi up --twins --data {tmp_path}`"):
        check_side_folder(Side(root=blue.root))
    check_side_folder(blue)


def test_a_path_with_a_comma_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    side = Side(root=tmp_path / "a,b")
    with pytest.raises(DataFolderError, match=r"comma; name a --data without one"):
        check_side_folder(side)
    assert not side.root.exists()

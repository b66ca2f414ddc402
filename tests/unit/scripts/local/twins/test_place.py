"""Folders and ports of twins."""

import itertools
from dataclasses import replace
from pathlib import Path

import pytest

from scripts.local.addresses import DEFAULT_PORT
from scripts.local.side import LIGHT, Code, NoSideError, Side
from scripts.local.twins.place import NoTwinsError, Twins, are_twins
from tests.harness.twins_ports import TWINS_PORTS


def test_no_two_of_twins_and_a_plain_side_share_a_port(tmp_path: Path) -> None:
    twins = Twins(root=tmp_path)
    parts = [set(twins.edge.ports), *(set(side.ports) for side in twins.sides)]
    assert all(not one & other for one, other in itertools.combinations(parts, 2))
    assert all(not part & set(Side(root=tmp_path, port=DEFAULT_PORT).ports) for part in parts)
    assert set().union(*parts) <= set(range(twins.port, twins.port + TWINS_PORTS))


def test_twins_are_found_again_by_their_folder(tmp_path: Path) -> None:
    assert not are_twins(tmp_path)
    twins = Twins(root=tmp_path, port=9100, partitions=3)
    twins.create()
    assert are_twins(tmp_path)
    assert Twins.load(tmp_path) == twins


def test_a_folder_without_twins_names_the_command_that_starts_them(tmp_path: Path) -> None:
    with pytest.raises(NoTwinsError, match="hifi up --twins"):
        Twins.load(tmp_path)


def test_both_sides_have_one_store_one_token_and_one_file_of_secrets(tmp_path: Path) -> None:
    twins = Twins(root=tmp_path)
    for side in twins.sides:
        assert side.store_url == twins.edge.store_url
        assert side.token_file == tmp_path / "operator.token"
        assert side.secrets == tmp_path / "secrets.yaml"


def test_a_side_keeps_its_code(tmp_path: Path) -> None:
    twins, code = Twins(root=tmp_path), Code(version="1.4.0", source=tmp_path / "code")
    replace(twins.side("green"), code=code).create()
    assert twins.side("green").code == code
    assert Side.load(tmp_path / "green") == twins.side("green")
    assert twins.side("green").environment()["PYTHONPATH"] == str(tmp_path / "code")
    assert twins.side("blue").code is None


def test_a_command_about_the_folder_means_the_light_side(tmp_path: Path) -> None:
    twins = Twins(root=tmp_path)
    with pytest.raises(NoSideError):
        Side.load(tmp_path)
    for side in twins.sides:
        side.create()
    (tmp_path / LIGHT).symlink_to("green")
    assert Side.load(tmp_path) == twins.side("green")

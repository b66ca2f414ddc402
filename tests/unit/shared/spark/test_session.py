"""The path of the folder of the workers' sockets, which must be short."""

import pytest

from shared.spark.session import SOCKET_FOLDER_LENGTH, socket_folder

_DEEP = "/" + "a" * SOCKET_FOLDER_LENGTH


def test_a_short_temporary_folder_is_taken_as_it_is() -> None:
    assert socket_folder("/tmp", "/home/somebody/hifi") == "/tmp"


def test_a_deep_side_is_reached_from_its_own_folder() -> None:
    assert socket_folder(f"{_DEEP}/tmp", _DEEP) == "tmp"


def test_a_folder_out_of_reach_is_refused_by_the_name_of_its_setting() -> None:
    with pytest.raises(ValueError, match=r"TMPDIR: .* shorter path"):
        socket_folder(f"{_DEEP}/tmp", "/home/somebody/hifi")

"""The folder of the workers' sockets, and the class that writes checkpoints."""

import pytest

from shared.spark.session import (
    CHECKPOINTS_ON_DISK,
    CHECKPOINTS_ON_S3,
    SOCKET_FOLDER_LENGTH,
    checkpoint_settings,
    socket_folder,
)

_DEEP = "/" + "a" * SOCKET_FOLDER_LENGTH


def test_a_short_temporary_folder_is_taken_as_it_is() -> None:
    assert socket_folder("/tmp", "/home/somebody/hifi") == "/tmp"


def test_a_deep_side_is_reached_from_its_own_folder() -> None:
    assert socket_folder(f"{_DEEP}/tmp", _DEEP) == "tmp"


def test_a_folder_out_of_reach_is_refused_by_the_name_of_its_setting() -> None:
    with pytest.raises(ValueError, match=r"TMPDIR: .* shorter path"):
        socket_folder(f"{_DEEP}/tmp", "/home/somebody/hifi")


def test_a_checkpoint_is_renamed_into_place_on_disk_and_put_on_s3() -> None:
    manager = "spark.sql.streaming.checkpointFileManagerClass"
    assert checkpoint_settings("/data/checkpoints")[manager] == CHECKPOINTS_ON_DISK
    assert checkpoint_settings("s3a://hifi-production-checkpoints-1/blue")[manager] == CHECKPOINTS_ON_S3

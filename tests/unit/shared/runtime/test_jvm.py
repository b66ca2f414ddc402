"""Flags by which JVMs record and map archives of classes."""

from pathlib import Path

import pytest

from shared.runtime.jvm import MAPS, mapping, recording, release


@pytest.mark.parametrize(
    ("version", "records", "maps"),
    [
        (17, "-XX:ArchiveClassesAtExit=", "-XX:SharedArchiveFile="),
        (21, "-XX:ArchiveClassesAtExit=", "-XX:SharedArchiveFile="),
        (25, "-XX:AOTCacheOutput=", "-XX:AOTCache="),
    ],
)
def test_from_jdk_25_on_the_archive_is_an_aot_cache(
    tmp_path: Path, version: int, records: str, maps: str
) -> None:
    archive = tmp_path / "spark.jsa"
    archive.touch()
    assert recording(archive, version) == f"{records}{archive}"
    assert mapping(archive, version) == (f"{maps}{archive}",)
    assert maps in MAPS


def test_without_an_archive_a_jvm_gets_no_flag(tmp_path: Path) -> None:
    assert mapping(tmp_path / "spark.jsa", 17) == ()
    assert mapping(None, 25) == ()


@pytest.mark.parametrize(
    ("described", "version"),
    [
        ('JAVA_VERSION="17.0.15"', 17),
        ('A="b"\nJAVA_VERSION="25"\n', 25),
        ('JAVA_VERSION="1.8.0_442"', 8),
        ("", 17),
    ],
)
def test_the_release_is_that_of_the_jdks_own_file(tmp_path: Path, described: str, version: int) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").touch()
    (tmp_path / "release").write_text(described)
    assert release(str(tmp_path / "bin" / "java")) == version

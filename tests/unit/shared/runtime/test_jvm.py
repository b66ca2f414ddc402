"""JVM flags that record and map class archives."""

from pathlib import Path

import pytest

from shared.runtime.jvm import MAPS, assembles, assembling, mapping, recording, release


@pytest.mark.parametrize(
    ("version", "records", "maps"),
    [
        (17, ("-XX:ArchiveClassesAtExit={}.jsa",), "-XX:SharedArchiveFile="),
        (21, ("-XX:ArchiveClassesAtExit={}.jsa",), "-XX:SharedArchiveFile="),
        (25, ("-XX:AOTMode=record", "-XX:AOTConfiguration={}.config"), "-XX:AOTCache="),
    ],
)
def test_from_jdk_25_on_the_archive_is_an_aot_cache(
    tmp_path: Path, version: int, records: tuple[str, ...], maps: str
) -> None:
    archive = tmp_path / "spark.jsa"
    archive.touch()
    assert recording(archive, version) == tuple(flag.format(tmp_path / "spark") for flag in records)
    assert mapping(archive, version) == (f"{maps}{archive}",)
    assert maps in MAPS
    assert assembles(version) == (version == 25)


def test_an_aot_cache_is_made_by_a_jvm_like_the_one_that_noted_its_classes(tmp_path: Path) -> None:
    archive = tmp_path / "spark.jsa"
    command = ["java", "-cp", "a.jar", *recording(archive, 25), "-Xmx1g", "Main"]
    assert assembling(command, archive) == [
        "java",
        "-XX:AOTMode=create",
        f"-XX:AOTConfiguration={tmp_path}/spark.config",
        f"-XX:AOTCache={archive}",
        *("-cp", "a.jar", "-Xmx1g", "Main"),
    ]


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

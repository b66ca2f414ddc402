"""The jars and the JDK to which an archive of classes belongs."""

import os
from pathlib import Path

from scripts.local.class_archives import ClassArchive


def _archive(folder: Path) -> ClassArchive:
    (folder / "jars").mkdir(exist_ok=True)
    (folder / "jars" / "a.jar").write_text("a")
    os.utime(folder / "jars" / "a.jar", (1, 1))
    return ClassArchive(folder, "broker", (folder / "jars",))


def test_unchanged_jars_keep_their_archive(tmp_path: Path) -> None:
    assert _archive(tmp_path).file == _archive(tmp_path).file


def test_a_jar_that_was_added_replaced_or_touched_has_another_archive(tmp_path: Path) -> None:
    archive = _archive(tmp_path)
    files = {archive.file}
    (tmp_path / "jars" / "b.jar").write_text("b")
    files.add(archive.file)
    (tmp_path / "jars" / "b.jar").write_text("longer")
    files.add(archive.file)
    os.utime(tmp_path / "jars" / "b.jar", (2, 2))
    files.add(archive.file)
    assert len(files) == 4


def test_archives_for_jars_as_they_were_are_stale_and_those_of_others_are_not(tmp_path: Path) -> None:
    archive = _archive(tmp_path)
    before = archive.file
    before.touch()
    (tmp_path / "spark-0.jsa").touch()
    (tmp_path / "jars" / "a.jar").write_text("longer")
    archive.file.touch()
    assert archive.stale() == [before]

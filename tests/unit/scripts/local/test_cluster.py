"""The configuration of Spark's master and workers on this machine."""

import os
import stat
from pathlib import Path

from scripts.local.cluster import configure, driver_folder, slots
from scripts.local.side import Side
from scripts.local.spark_image import twins_settings
from shared.spark.session import SOCKET_FOLDER_LENGTH

_NODES = ("route", "ingest")


def _settings(side: Side) -> dict[str, str]:
    text = (side.spark_configuration / "spark-defaults.conf").read_text()
    return dict(line.split(maxsplit=1) for line in text.splitlines())


def test_a_side_has_the_twins_settings_but_for_places_and_slots(tmp_path: Path) -> None:
    side = Side(root=tmp_path, workers=1)
    configure(side, tmp_path / "jars", _NODES)
    found, twins = _settings(side), twins_settings(side.spark_configuration, tmp_path / "jars")
    differ = {name for name, value in found.items() if twins.get(name) != value}
    assert differ == {
        "spark.authenticate.secret",
        "spark.blockManager.port",
        "spark.deploy.recoveryDirectory",
        "spark.driver.bindAddress",
        "spark.driver.blockManager.port",
        "spark.driver.host",
        "spark.driver.port",
        "spark.executor.cores",
        "spark.executor.extraJavaOptions",
        "spark.executorEnv.JAVA_HOME",
        "spark.python.unix.domain.socket.dir",
    }
    assert twins.keys() <= found.keys()
    assert found["spark.executor.cores"] == str(slots(side))


def test_a_worker_starts_executors_by_the_program_that_rehearses(tmp_path: Path) -> None:
    side = Side(root=tmp_path, workers=1)
    configure(side, tmp_path / "jars", _NODES)
    script = Path(_settings(side)["spark.executorEnv.JAVA_HOME"], "bin", "java")
    assert os.access(script, os.X_OK)
    assert "scripts.local.executor route,ingest" in script.read_text()


def test_sockets_of_python_workers_are_in_the_sides_temporary_folder(tmp_path: Path) -> None:
    side = Side(root=tmp_path, workers=1)
    configure(side, tmp_path / "jars", _NODES)
    folder = _settings(side)["spark.python.unix.domain.socket.dir"]
    assert len(folder) < SOCKET_FOLDER_LENGTH
    for place in (driver_folder(side), side.executors / "app-20261126023611-0000" / "12"):
        assert Path(os.path.normpath(place / folder)) == side.temporary


def test_each_start_has_a_secret_of_its_own_that_only_its_user_can_read(tmp_path: Path) -> None:
    side = Side(root=tmp_path, workers=1)
    side.spark_configuration.mkdir(mode=0o755)
    configure(side, tmp_path / "jars", _NODES)
    first = _settings(side)["spark.authenticate.secret"]
    configure(side, tmp_path / "jars", _NODES)
    assert _settings(side)["spark.authenticate.secret"] != first
    assert stat.S_IMODE(side.spark_configuration.stat().st_mode) == 0o700

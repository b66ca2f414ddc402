"""Spark's own master, workers and drivers, started as on the twins, after the loss of a driver or a node."""

import os
import secrets
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from scripts.local.pyspark_package import pyspark_folder, with_own_spark
from scripts.local.spark_image import twins_settings, write_configuration
from shared.runtime.settings import SparkSettings
from shared.spark.missing_executors import MISSING_LOOKS
from tests.harness.waiting import eventually, free_port
from tests.synth.workloads.manifests import WORKLOADS, container, expanded

pytestmark = pytest.mark.proof

_SECONDS = 300
_HOST = "127.0.0.1"
_VERSION = "1.1"
_IMAGES = WORKLOADS / "images"
_DRIVER = WORKLOADS / "base" / "driver" / "driver.yaml"
_UNREADABLE = b"a record of another release of Spark"
_LOCAL, _STATE, _TIMER = 1, 3, 5
"""Fields of `/proc/net/tcp`."""

_ESTABLISHED, _KEEPALIVE = "01", "02"


@dataclass(frozen=True, kw_only=True)
class Driver:
    """A driver, and the file that it writes when it is ready."""

    process: "subprocess.Popen[bytes]"
    ready: Path

    def stop_short(self) -> None:
        """Freeze it, with its connections open: as if its node were lost."""
        os.killpg(self.process.pid, signal.SIGSTOP)


class Cluster:
    """Processes of a cluster on this machine."""

    def __init__(self, folder: Path, settings: SparkSettings, stack: ExitStack) -> None:
        self.folder, self._settings, self._stack = folder, settings, stack
        self.state, self.ui_port, self._port = folder / "state", free_port(), free_port()
        configuration = folder / "conf"
        write_configuration(configuration, twins_settings(configuration, settings.jars) | self._changes())
        self._secret = secrets.token_hex(32)
        self._environment = with_own_spark(os.environ) | {
            "PATH": f"{pyspark_folder() / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "HIFI_VERSION": _VERSION,
            "PYTHONPATH": str(Path(__file__).parents[2]),
            "SPARK_CONF_DIR": str(configuration),
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_LOCAL_IP": _HOST,
            "_SPARK_AUTH_SECRET": self._secret,
            "PYSPARK_PYTHON": sys.executable,
        }

    def _changes(self) -> dict[str, str]:
        """Local addresses and folders, and less memory."""
        return {
            "spark.driver.port": str(free_port()),  # equal for both drivers, as in their pods
            "spark.driver.blockManager.port": "0",
            "spark.blockManager.port": "0",
            "spark.cores.max": "1",
            "spark.executor.cores": "1",
            "spark.executor.memory": "512m",
            "spark.executor.extraJavaOptions": "-XX:+UseSerialGC",
        }

    def start_master(self) -> None:
        """Start the master, as its pod does."""
        ports = ("--port", str(self._port), "--webui-port", str(self.ui_port))
        self._start("master", str(_IMAGES / "start-master.sh"), str(self.state), "--host", _HOST, *ports)

    def start_worker(self, name: str) -> None:
        """Start a worker with room for one executor of a node."""
        room = ("--cores", "1", "--memory", "1g", "--work-dir", str(self.folder / name))
        where = ("--host", _HOST, "--port", "0", "--webui-port", "0")
        worker = ("spark-class", "org.apache.spark.deploy.worker.Worker")
        self._start(name, *worker, *where, *room, self._master)

    def start_driver(self, name: str, address: str, looks: int = MISSING_LOOKS) -> Driver:
        """Start a driver in a pod with this address, with its manifest's arguments for Spark.

        Args:
            name: of its files.
            address: on this machine.
            looks: after which it ends if it has no executor.
        """
        ready = self.folder / f"{name}.ready"
        process = self._start(
            name,
            *(sys.executable, "-m", "tests.spark.rate_driver", str(looks)),
            HIFI_BOOTSTRAP="127.0.0.1:1",
            HIFI_MASTER=self._master,
            HIFI_CHECKPOINTS=str(self.folder / "checkpoints" / name),
            HIFI_JARS=str(self._settings.jars),
            HIFI_CLASS_ARCHIVE=str(self._settings.class_archive),
            HIFI_JAVA_OPTIONS="-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
            HIFI_DRIVER_MEMORY="512m",
            HIFI_METRICS_PORT="0",
            HIFI_READY_FILE=str(ready),
            PYSPARK_SUBMIT_ARGS=f"--conf spark.driver.bindAddress={address} {self._submitted(address)}",
        )
        return Driver(process=process, ready=ready)

    @property
    def _master(self) -> str:
        return f"spark://{_HOST}:{self._port}"

    def _submitted(self, address: str) -> str:
        """The manifest's arguments, as the kubelet expands them in a pod of this address."""
        deployment = yaml.safe_load(_DRIVER.read_text())
        given = {each["name"]: each.get("value", "") for each in container(deployment)["env"]}
        pod = {"NODE": "ingest", "POD_IP": address, "_SPARK_AUTH_SECRET": self._secret}
        return expanded(given["PYSPARK_SUBMIT_ARGS"], pod)

    def _start(self, name: str, *command: str, **variables: str) -> "subprocess.Popen[bytes]":
        with (self.folder / f"{name}.log").open("wb") as output:
            process = subprocess.Popen(
                command,
                env={**self._environment, **variables},
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                start_new_session=True,
            )
        self._stack.callback(_kill, process)
        return process

    def asks_whether_they_live(self) -> bool:
        """Whether the kernel probes the other ends of idle connections to the master."""
        tables = [Path("/proc/net", name).read_text() for name in ("tcp", "tcp6")]
        found = [line.split() for table in tables for line in table.splitlines()]
        timers = {
            each[_TIMER].partition(":")[0]
            for each in found
            if each[_LOCAL].endswith(f":{self._port:04X}") and each[_STATE] == _ESTABLISHED
        }
        return timers == {_KEEPALIVE}

    def log(self, name: str) -> str:
        """The end of a process's output."""
        return (self.folder / f"{name}.log").read_text(errors="replace")[-4_000:]

    def is_ready(self) -> bool:
        """Whether the master's pod would be ready."""
        asked = [str(_IMAGES / "master-is-alive.sh"), str(self.ui_port)]
        return subprocess.run(asked, check=False, capture_output=True, timeout=30).returncode == 0

    def says(self, word: str) -> bool:
        """Whether the master's page contains this word."""
        try:
            with urllib.request.urlopen(f"http://{_HOST}:{self.ui_port}/json/", timeout=10) as reply:
                return word in reply.read().decode()
        except (urllib.error.URLError, OSError):
            return False


def _kill(process: "subprocess.Popen[bytes]") -> None:
    """Kill the whole group, including a driver's JVM. Executors end with their workers and drivers."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.fixture
def cluster(tmp_path: Path, spark_settings: SparkSettings) -> Iterator[Cluster]:
    with ExitStack() as stack:
        yield Cluster(tmp_path, spark_settings, stack)


def test_a_driver_gets_an_executor_while_the_master_takes_the_lost_one_before_it_for_alive(
    cluster: Cluster,
) -> None:
    cluster.start_master()
    for worker in ("worker-1", "worker-2"):
        cluster.start_worker(worker)
    lost = cluster.start_driver("lost", "127.0.0.2")
    eventually(lost.ready.exists, _SECONDS, "the first driver has an executor")
    lost.stop_short()
    eventually(cluster.asks_whether_they_live, 60, "the master asks whether drivers live")
    after = cluster.start_driver("after", "127.0.0.1")
    eventually(lambda: after.ready.exists() or after.process.poll() is not None, _SECONDS, "it is ready")
    assert after.process.poll() is None, cluster.log("after")
    assert lost.process.poll() is None, "the master still holds its connection"


def test_a_driver_without_an_executor_ends_and_says_why(cluster: Cluster) -> None:
    cluster.start_master()
    driver = cluster.start_driver("driver", _HOST, looks=5)
    assert driver.process.wait(_SECONDS) == 1, cluster.log("driver")
    assert not driver.ready.exists()
    assert "no executor has taken tasks" in cluster.log("driver")


def test_a_master_leads_whatever_other_versions_and_a_lost_node_have_left(cluster: Cluster) -> None:
    former, own = (cluster.state / "versions" / each for each in ("1.0", _VERSION))
    for folder in (cluster.state, former):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "worker_worker-20260101000000").write_bytes(_UNREADABLE)
    own.mkdir()
    (own / "app_app-20260101000000-0000").touch()  # its node died while the file was being written
    cluster.start_master()
    eventually(cluster.is_ready, _SECONDS, "the master is ready")
    assert list((cluster.state / "versions").iterdir()) == [own]


def test_a_master_that_does_not_lead_is_not_ready(cluster: Cluster) -> None:
    own = cluster.state / "versions" / _VERSION
    own.mkdir(parents=True)
    (own / "worker_worker-20260101000000").write_bytes(_UNREADABLE)
    cluster.start_master()
    eventually(lambda: cluster.says("STANDBY"), _SECONDS, "the master answers")
    assert not cluster.is_ready()

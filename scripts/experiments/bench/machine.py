"""The machine that figures were measured on, without host names and paths."""

import os
import platform
import re
import subprocess
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

import confluent_kafka
import psutil
from msgspec import Struct

_CPU_INFO = Path("/proc/cpuinfo")


class Machine(Struct, frozen=True, kw_only=True):
    """Hardware and versions."""

    cores: int
    cpu: str
    memory_gib: float
    system: str
    python: str
    java: str
    kafka: str
    spark: str
    librdkafka: str


def machine(java: str, broker_jars: Path) -> Machine:
    """This machine; `java` is the binary that runs the brokers, `broker_jars` their folder."""
    return Machine(
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 0,
        cpu=cpu_model(_CPU_INFO.read_text() if _CPU_INFO.exists() else "") or platform.machine(),
        memory_gib=round(psutil.virtual_memory().total / 2**30, 1),
        system=platform.system(),
        python=platform.python_version(),
        java=java_version(
            subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
        ),
        kafka=kafka_version(path.name for path in broker_jars.glob("*.jar")),
        spark=version("pyspark"),
        librdkafka=confluent_kafka.libversion()[0],
    )


def cpu_model(cpu_info: str) -> str:
    """The processor's name in the text of /proc/cpuinfo; empty if it has none."""
    found = re.search(r"^model name\s*:\s*(.+)$", cpu_info, re.MULTILINE)
    return found[1].strip() if found else ""


def java_version(output: str) -> str:
    """The version in the output of `java -version`."""
    found = re.search(r'version "([^"]+)"', output)
    return found[1] if found else "unknown"


def kafka_version(jars: Iterable[str]) -> str:
    """The broker's version in the names of its jars."""
    found = (re.fullmatch(r"kafka_2\.\d+-(\d[\d.]*)\.jar", name) for name in jars)
    return next((match[1] for match in found if match), "unknown")

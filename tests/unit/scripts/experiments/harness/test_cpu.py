import os
import subprocess
import sys

import pytest

from scripts.experiments.bench.jfr_profile import innermost, samples, shares
from scripts.experiments.bench.machine import cpu_model, java_version, kafka_version
from scripts.experiments.bench.threads import by_kind, dumped_names, kind
from scripts.experiments.harness.cpu import cores, per_million, role, since, used


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (["java", "-cp", "jars/*", "kafka.Kafka", "data/brokers/2/server.properties"], "broker-2"),
        (["python", "-m", "pipelines.data.collect"], "collect"),
        (["python", "-m", "scripts.local.processes.driver"], "spark driver"),
        (
            [
                "java",
                "org.apache.spark.deploy.SparkSubmit",
                "--conf",
                "spark.python.daemon.module=shared.spark.worker_daemon",
                "pyspark-shell",
            ],
            "spark jvm",
        ),
        (["java", "-Dhifi.process=executor", "org.apache.spark.deploy.SparkSubmit"], "spark executor"),
        (["java", "-Dhifi.process=executor", "spark.CoarseGrainedExecutorBackend"], "spark executor"),
        (["python", "-m", "shared.spark.worker_daemon", "pyspark.worker"], "spark python workers"),
        (["python", "-m", "scripts.experiments.baseline", "route"], "route"),
        (["python", "-m", "pipelines.control.observe"], "observe"),
        (["java", "-cp", "jars/*", "LocalStore", "127.0.0.1", "8091", "store"], "store"),
        (["python", "-m", "something.else"], "helpers"),
        ([], "helpers"),
    ],
)
def test_a_process_is_known_by_its_command_line(command: list[str], expected: str) -> None:
    assert role(command) == expected


def test_cpu_of_a_child_that_ended_is_not_lost() -> None:
    before = used([os.getpid()])
    burn = "import time\nwhile time.process_time() < 0.3: pass"
    subprocess.run([sys.executable, "-c", burn], check=True)
    assert sum(since(before, used([os.getpid()])).values()) >= 0.25  # clocks tick in hundredths


def test_a_process_that_is_gone_counts_nothing() -> None:
    assert used([2**22 + 1]) == {}


def test_usage_is_never_negative_and_new_roles_count_whole() -> None:
    assert since({"a": 5.0, "b": 9.0}, {"a": 7.5, "b": 1.0, "c": 2.0}) == {"a": 2.5, "b": 0.0, "c": 2.0}


def test_usage_is_scaled_to_a_million_events_and_to_a_core() -> None:
    assert per_million({"a": 2.0}, 500_000) == {"a": 4.0}
    assert per_million({"a": 2.0}, 0) == {}
    assert cores({"a": 3.0}, 30.0) == {"a": 10.0}


def test_threads_of_a_kind_are_added_up() -> None:
    dump = (
        '"Executor task launch worker for task 0.0 in stage 1.0 (TID 7)" #9 cpu=1ms nid=0x10 runnable\n'
        '"GC Thread#1" os_prio=0 cpu=2ms elapsed=3s tid=0x1 nid=17 runnable\n'
    )
    names = dumped_names(dump)
    assert set(names) == {16, 17}
    found = by_kind({16: 1.0}, {16: 2.0, 17: 0.5, 18: 0.1}, names, elapsed=10.0)
    assert list(found) == ["Executor task", "GC Thread#N", "ended"]
    assert found["Executor task"] == pytest.approx(10.0)
    assert kind("stream execution thread for [id = 3f2504e0-4f89-11d3-9a0c-0305e82c3301]") == kind(
        "stream execution thread for [id = 6f9619ff-8b86-d011-b42d-00cf4fc964ff]"
    )


def test_versions_are_read_from_the_output_of_tools() -> None:
    assert java_version('openjdk version "17.0.12" 2024-07-16\nOpenJDK Runtime') == "17.0.12"
    assert java_version("") == "unknown"
    assert kafka_version(["kafka-clients-4.1.0.jar", "kafka_2.13-4.1.1.jar"]) == "4.1.1"
    assert cpu_model("processor : 0\nmodel name\t: Some CPU @ 2 GHz\n") == "Some CPU @ 2 GHz"


RECORDING = """
jdk.ExecutionSample {
  startTime = 10:00:00.000
  sampledThread = "Executor task launch worker for task 0.0 in stage 1.0 (TID 7)" (javaThreadId = 34)
  state = "STATE_RUNNABLE"
  stackTrace = [
    java.util.HashMap.get(Object) line: 552
    org.apache.spark.sql.Rows$Inner.<init>(int, String[]) line: 10
    ...
  ]
}

jdk.ExecutionSample {
  sampledThread = "main" (javaThreadId = 1)
  stackTrace = [
    sun.nio.ch.EPoll.wait(int, long, int, int)
  ]
}
"""


def test_samples_of_a_recording_name_thread_and_methods() -> None:
    found = list(samples(RECORDING))
    assert found[0][1] == ["java.util.HashMap.get", "org.apache.spark.sql.Rows$Inner.<init>"]
    assert found[1] == ("main", ["sun.nio.ch.EPoll.wait"])
    assert [innermost(stack) for _, stack in found] == [
        "org.apache.spark.sql.Rows$Inner",
        "sun.nio.ch.EPoll",
    ]
    assert shares(["a", "b", "a", "a"]) == {"a": 75.0, "b": 25.0}

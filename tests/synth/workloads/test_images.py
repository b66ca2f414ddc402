"""The images are built from pinned parts that fit together."""

import re
import subprocess
import sys
import time
from pathlib import Path
from uuid import uuid4

import pyspark
import pytest

from tests.harness.waiting import eventually
from tests.synth.workloads.manifests import WORKLOADS

ROOT = WORKLOADS.parents[1]
IMAGES = WORKLOADS / "images"
DOCKERFILES = sorted(IMAGES.glob("*.Dockerfile"))
LEFT_OUT = ("pyspark", "py4j", "pandas", "pyarrow")


def test_there_is_one_a_kind() -> None:
    assert [file.name for file in DOCKERFILES] == ["service.Dockerfile", "spark.Dockerfile"]


@pytest.mark.parametrize("file", DOCKERFILES, ids=lambda file: str(file.name))
def test_every_base_is_pinned_by_digest_and_says_its_version(file: Path) -> None:
    bases = re.findall(r"^FROM (\S+)", file.read_text(), re.M)
    assert bases
    for base in bases:
        assert re.fullmatch(r"[\w./-]+:\d+\.\d+\.[\w.-]+@sha256:[0-9a-f]{64}", base), base


@pytest.mark.parametrize("file", DOCKERFILES, ids=lambda file: str(file.name))
def test_the_process_is_not_root_and_packages_come_with_their_hashes(file: Path) -> None:
    text = file.read_text()
    last = text[text.rindex("\nFROM ") :]
    assert re.findall(r"^USER (\S+)", last, re.M) == ["10001:10001"]
    installs = re.findall(r"pip install (.*)", text)
    assert installs
    assert all("--require-hashes" in install for install in installs)


@pytest.mark.parametrize("file", DOCKERFILES, ids=lambda file: str(file.name))
def test_every_process_reports_the_version_that_the_image_is_built_as(file: Path) -> None:
    last = file.read_text().rpartition("\nFROM ")[2]
    _, said, _ = last.partition("\nARG HIFI_VERSION\nENV HIFI_VERSION=$HIFI_VERSION\n")
    assert said, "a variable of the build alone is gone when the image runs"
    assert not re.search("^(COPY|RUN)", said, re.M), "a new name would build what comes after it anew"


@pytest.mark.parametrize("file", DOCKERFILES, ids=lambda file: str(file.name))
def test_what_is_copied_is_there_and_let_through(file: Path) -> None:
    ignored = file.with_name(f"{file.name}.dockerignore").read_text().splitlines()
    assert ignored[1] == "*"
    let_through = [line[1:] for line in ignored if line.startswith("!")]
    for line in re.findall(r"^COPY (?!--from)(.*)", file.read_text(), re.M):
        for source in line.split()[:-1]:
            assert (ROOT / source).exists(), source
            assert any(Path(source).match(each) or source.startswith(f"{each}/") for each in let_through)


def test_hadoops_client_for_s3_is_of_the_release_that_spark_has() -> None:
    (client,) = (Path(pyspark.__file__).parent / "jars").glob("hadoop-client-api-*.jar")
    (wanted,) = re.findall(r"<hadoop.version>(.*)</", (IMAGES / "cluster" / "pom.xml").read_text())
    assert client.name == f"hadoop-client-api-{wanted}.jar"


def test_the_way_into_msk_lies_beside_the_kafka_client_that_loads_it() -> None:
    wanted = re.findall(r"<artifactId>(.*)</", (IMAGES / "cluster" / "pom.xml").read_text())
    assert "aws-msk-iam-auth" in wanted
    text = (IMAGES / "spark.Dockerfile").read_text()
    assert "mv /jars/cluster/aws-msk-iam-auth-*.jar /jars/connector" in text
    assert re.search(r"^COPY --from=jars /jars/connector /opt/hifi/jars$", text, re.M)


def test_the_image_as_tests_lay_it_out_has_the_parts_of_the_dockerfile() -> None:
    text = (IMAGES / "spark.Dockerfile").read_text()
    layout = (ROOT / "scripts" / "local" / "spark_image.py").read_text()
    (beside,) = re.findall(r"mv /jars/cluster/(\S+) /jars/connector", text)
    assert f'"{beside}"' in layout
    assert "COPY --from=jars /jars/cluster /opt/hifi/spark/jars" in text
    variables = dict(re.findall(r"\b([A-Z_]+)=(\S+)", text))
    for name in ("SPARK_HOME", "SPARK_CONF_DIR", "HIFI_JARS", "PYTHONPATH"):
        assert name in variables
        assert f'"{name}"' in layout
    assert variables["PYTHONPATH"] in layout
    assert variables["SPARK_CONF_DIR"] in layout


def test_executors_find_the_connectors_jars_in_the_image() -> None:
    variables = dict(re.findall(r"\b([A-Z_]+)=(\S+)", (IMAGES / "spark.Dockerfile").read_text()))
    settings = (ROOT / "infra" / "workloads" / "base" / "spark" / "spark-defaults.conf").read_text()
    (path,) = re.findall(r"^spark\.executor\.extraClassPath\s+(\S+)$", settings, re.MULTILINE)
    assert path == f"{variables['HIFI_JARS']}/*"


def test_services_are_installed_without_what_only_spark_needs() -> None:
    requirements = ROOT / "requirements.txt"
    drop = f"drop={' '.join(LEFT_OUT)}"
    made = subprocess.run(
        ["awk", "-v", drop, "-f", IMAGES / "drop-packages.awk", requirements],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    before, after = (
        set(re.findall(r"^([\w.-]+)==", text, re.M)) for text in (requirements.read_text(), made)
    )
    assert before - after == set(LEFT_OUT) & before
    assert "pyspark" in before
    # Removed packages have no hash, and remaining ones have all of theirs.
    assert made.count("--hash=") == sum(
        block.count("--hash=")
        for block in re.split(r"\n(?=[\w.-]+==)", requirements.read_text())
        if block.split("==")[0] not in LEFT_OUT
    )
    assert drop.removeprefix("drop=") in (IMAGES / "service.Dockerfile").read_text()


def test_collect_starts_without_what_is_left_out() -> None:
    blocked = f"import sys; sys.modules.update(dict.fromkeys({LEFT_OUT!r}))"
    program = f"{blocked}; import pipelines.data.collect.__main__, shared.kafka.admin"
    subprocess.run([sys.executable, "-c", program], check=True, cwd=ROOT, timeout=300)


def test_a_worker_is_decommissioned_and_awaited_until_its_executors_are_gone(tmp_path: Path) -> None:
    told, trapped, over, name = tmp_path / "told", tmp_path / "trapped", tmp_path / "over", uuid4().hex
    task = f"while [ ! -e {over} ]; do sleep 0.1; done"
    executor = subprocess.Popen(["sh", "-c", task, f"Executor-{name}"])
    loop = f"trap 'touch {told}' PWR; touch {trapped}; while :; do sleep 0.1; done"
    worker = subprocess.Popen(["sh", "-c", loop])
    try:
        eventually(trapped.exists, what="the worker is ready for the signal")
        # An executor of another side on this machine does not belong to this worker.
        command = [str(IMAGES / "drain-worker.sh"), str(worker.pid), "300", f"[E]xecutor-{name}"]
        drain = subprocess.Popen(command)
        eventually(told.exists, what="the worker is decommissioned")
        time.sleep(1.5)  # the script looks for executors once a second
        assert drain.poll() is None, "it did not wait for the executor"
        over.touch()
        assert drain.wait(120) == 0
        assert executor.poll() == 0
    finally:
        for process in (executor, worker):
            process.kill()
            process.wait()

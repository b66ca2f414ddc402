"""Makes the archives of classes, once for these jars and this JDK, from what a small chain loads.

One broker, collect and the Spark driver run in a temporary folder until events went through; each
JVM writes its archive when it ends. Nothing needs an archive: where none can be made, JVMs start as usual.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from confluent_kafka import KafkaException
from confluent_kafka.cimpl import NewTopic

from scripts.local.addresses import HOST
from scripts.local.class_archives import SUFFIX, ClassArchive, broker_archive, spark_archive
from scripts.local.jars import Jars, ensure_jars
from scripts.local.kafka import brokers
from scripts.local.ports import free_base, is_busy
from scripts.local.process_marks import side_processes
from scripts.local.processes.profile import SideProfile
from scripts.local.processes.program import Program
from scripts.local.processes.programs import AUDIT, BROKERS, COLLECT, programs
from scripts.local.processes.spark_programs import SPARK
from scripts.local.progress import Say
from scripts.local.recorded_programs import MOST_SECONDS, RecordingError, ending, running, until
from scripts.local.side import Side
from scripts.local.warmup.warmup import WarmUpLimits, warm_up
from scripts.terminal import run_command
from shared.contracts.publish_plan import COMPLETE
from shared.contracts.topics import topic_specs
from shared.kafka.admin import admin_client, wait_for_brokers
from shared.kafka.config_topic import publish
from shared.runtime.errors import OperatorError
from shared.runtime.jvm import MAPS, assembles, assembling, java, recording, release
from shared.runtime.settings import SparkSettings

_PORTS: Final = (30_000, 32_000)
_LOAD_SECONDS: Final = 5.0
"""Enough for every class to be loaded; an archive has no compiled code."""


@dataclass(frozen=True, kw_only=True)
class _SmallSide(Side):
    """A side with the first broker only."""

    @property
    def bootstrap(self) -> str:
        return f"{HOST}:{self.broker_port(1)}"


@dataclass(frozen=True)
class _Recorded:
    """A program, and the archive that its JVM writes when it ends."""

    program: str
    archive: ClassArchive

    def draft(self, folder: Path) -> Path:
        return folder / f"{self.archive.name}{SUFFIX}"


def ensure_archives(jars: Jars, say: Say) -> None:
    """Make the archives that are missing; a failure is reported and does no harm."""
    every = (
        _Recorded(BROKERS[0], broker_archive(jars.broker)),
        _Recorded(SPARK, spark_archive(jars.spark)),
    )
    missing = [each for each in every if not each.archive.file.exists()]
    if not missing:
        return
    say("making archives of classes, once, so that brokers and Spark start faster")
    with tempfile.TemporaryDirectory(prefix="hifi-classes-") as folder:
        try:
            _record(_SmallSide(root=Path(folder).resolve(), port=free_base(*_PORTS)), jars, missing)
        except (OperatorError, KafkaException, OSError, subprocess.SubprocessError) as error:
            say(
                f"brokers and Spark start slower: the small chain that loads the classes did not run: {error}"
            )
            return
        for each in missing:
            _keep(each, Path(folder), say)


def _keep(recorded: _Recorded, folder: Path, say: Say) -> None:
    """Put a complete archive in its place, and remove those of earlier jars."""
    draft, archive = recorded.draft(folder), recorded.archive
    if not draft.exists():
        say(f"no archive of classes of {archive.name}: it starts without one, slower")
        return
    beside = archive.file.with_suffix(f".{os.getpid()}")  # on the file system of its place
    beside.write_bytes(draft.read_bytes())
    beside.replace(archive.file)
    for old in archive.stale():
        old.unlink(missing_ok=True)


def _record(side: Side, jars: Jars, wanted: Sequence[_Recorded]) -> None:
    side.create()
    version = release(java())
    flags = {each.program: recording(each.draft(side.root), version) for each in wanted}
    found = {
        program.name: _recording(program, flags.get(program.name, ()))
        for program in programs(side, jars, SideProfile.ALL)
    }
    brokers.prepare(side, jars.broker, (1,), brokers.single_copies(side))
    with running(side, [found[BROKERS[0]]]) as broker:
        until(lambda: is_busy(side.broker_port(1)), "a broker", broker)
        _make_topics(side)
        with running(side, [found[SPARK], found[COLLECT]]) as chain:
            until(lambda: is_busy(side.collect_port), "collect", chain)
            until(side.spark_ready.exists, "Spark", chain)
            warm_up(side, lambda _: None, WarmUpLimits(seconds=_LOAD_SECONDS))
            until((side.checkpoints / AUDIT / "commits" / "0").exists, "audit", chain)
            commands = [_jvm_command(side, each) for each in wanted]
    if assembles(version):
        for each, command in zip(wanted, commands, strict=True):
            _assemble(assembling(command, each.draft(side.root)))


def _jvm_command(side: Side, recorded: _Recorded) -> list[str]:
    """The command line of a program's JVM, which may be a child of the program's process."""
    lines = (process.cmdline() for process in side_processes(side.root, recorded.program))
    return next(line for line in lines if line and Path(line[0]).name == "java")


def _assemble(command: Sequence[str]) -> None:
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=MOST_SECONDS, check=False
    )
    if done.returncode:
        raise RecordingError(f"no AOT cache was made: {ending(done.stdout + done.stderr)}")


def _make_topics(side: Side) -> None:
    """Each on the only broker; all the documents, of which there are none, are on `config`."""
    wait_for_brokers(side.bootstrap, 1, MOST_SECONDS)
    admin = admin_client(side.bootstrap)  # kept, as its requests end with it
    made = admin.create_topics([NewTopic(str(spec.name), 1, 1) for spec in topic_specs(1)])
    for topic in made.values():
        topic.result(MOST_SECONDS)
    publish(side.bootstrap, "archives", COMPLETE, seconds=MOST_SECONDS)  # there is no provisioner


def _recording(program: Program, flags: Sequence[str]) -> Program:
    """The program with flags for its JVM: the driver's in its settings, others' on the command line."""
    if not flags:
        return program
    if program.name == SPARK:
        options = " ".join((SparkSettings.model_fields["java_options"].default, *flags))
        return replace(program, environment=program.environment | {"HIFI_JAVA_OPTIONS": options})
    first, *others = (word for word in program.command if not word.startswith(MAPS))
    return replace(program, command=[first, *flags, *others])


def main() -> None:
    """Fetch the jars and make the archives, as `make setup` does."""
    ensure_archives(ensure_jars(_say), _say)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    run_command(main)

"""Starts a version on a local side, in the background, and says how far it is.

Every step may be done twice: the side's description names the version once its programs are described, and a
file names the Spark driver that was warmed up. So a start goes on where a dead process left it.
"""

import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from confluent_kafka import KafkaException
from rich.console import Console

from scripts.local.jars import ensure_jars
from scripts.local.processes.programs import BROKERS, PROVISION, SPARK, programs
from scripts.local.processes.supervisor import Supervisor
from scripts.local.progress import Progress
from scripts.local.services import says_ready, spark_ready, start_profile
from scripts.local.side import Side
from scripts.local.twins.parking import code_states, is_parked, stop_code
from scripts.local.twins.place import Twins
from scripts.local.twins.versions import code_of
from shared.runtime.errors import OperatorError

_WARM: Final = "warm.ready"
_RUNNING: Final = "RUNNING"


class CodeStart:
    """Starts and parks code on one side. May be asked from one thread."""

    def __init__(self, twins: Twins, name: str, warm_up_seconds: float) -> None:
        self._twins, self._name, self._warm_up_seconds = twins, name, warm_up_seconds
        self._supervisor = Supervisor(self.side)
        self._thread: threading.Thread | None = None
        self._failure = ""

    @property
    def side(self) -> Side:
        """The side, with the code that it was last given."""
        return self._twins.side(self._name)

    @property
    def versions(self) -> Path:
        """Folder of the code of all versions."""
        return self._twins.root / "versions"

    @property
    def busy(self) -> bool:
        """Whether it starts or parks code now."""
        return self._thread is not None and self._thread.is_alive()

    def parked(self) -> bool:
        """Whether none of the side's code runs.

        Raises:
            SupervisorError: if the supervisor does not answer.
        """
        return is_parked(self._supervisor)

    def start(self, version: str) -> None:
        """Begin to start a version, unless that is under way or done."""
        if self.busy or (self._runs(version) and self._warm()):
            return
        self._run(partial(self._start, version))

    def park(self) -> None:
        """Begin to stop all code, unless that is under way or done."""
        if not self.busy and not self.parked():
            self._run(self._park)

    def waiting_for(self) -> list[str]:
        """Programs that are not ready, and why; empty once the side could take traffic.

        Raises:
            SupervisorError: if the supervisor does not answer.
        """
        if self._failure:
            return [self._failure]
        states = code_states(self._supervisor)
        wanted = [name for name, state in states.items() if state != "STOPPED"]
        if not wanted:
            return ["none of its code runs"]
        waiting = [f"{name} is {states[name].lower()}" for name in wanted if states[name] != _RUNNING]
        if not spark_ready(self.side, self._supervisor):
            waiting.append("spark: not all of its queries process data")
        if not says_ready(self.side.collect_port):
            waiting.append("collect does not answer /readyz with 200")
        return waiting or ([] if self._warm() else ["its warm-up is not over"])

    def crashes(self) -> int:
        """How often programs have ended by themselves since the version was started.

        Raises:
            SupervisorError: if the supervisor does not answer.
        """
        return sum(max(0, self._supervisor.starts(name) - 1) for name in code_states(self._supervisor))

    def _runs(self, version: str) -> bool:
        code = self.side.code
        return code is not None and code.version == version and not self.parked()

    def _warm(self) -> bool:
        try:
            said = (self.side.run / _WARM).read_text()
        except FileNotFoundError:
            return False
        return said == str(self._supervisor.pid(SPARK))

    def _run(self, work: Callable[[], None]) -> None:
        self._failure = ""
        self._thread = threading.Thread(target=self._guarded, args=(work,), daemon=True)
        self._thread.start()

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except (OperatorError, KafkaException, OSError) as error:
            self._failure = str(error)

    def _start(self, version: str) -> None:
        if not self._runs(version):
            self._replace(version)
        profile, progress = self._twins.profile, Progress(Console(quiet=True))
        start_profile(self.side, self._supervisor, profile, progress, self._warm_up_seconds)
        (self.side.run / _WARM).write_text(str(self._supervisor.pid(SPARK)))

    def _replace(self, version: str) -> None:
        code = code_of(version, self.versions)
        self._park()
        side = replace(self.side, code=code)
        jars = ensure_jars(lambda _: None)
        mine = [each for each in programs(side, jars, self._twins.profile) if each.name not in BROKERS]
        side.spark_ready.unlink(missing_ok=True)
        self._supervisor.stop_program(PROVISION)
        self._supervisor.describe(mine)
        side.create()

    def _park(self) -> None:
        side = self.side
        stop_code(self._supervisor, programs(side, ensure_jars(lambda _: None), self._twins.profile))

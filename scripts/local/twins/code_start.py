"""Starts a version on a local side, in the background, and says how far it is.

Every step may be done twice: the side's description names the version once its programs are described, and a
file names the Spark driver that was warmed up. So a start goes on where a dead process left it. A side with
traffic needs no such mark: events warm up a driver that supervisord starts again, and a synthetic load would
delay them.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from scripts.local.jars import ensure_jars
from scripts.local.processes.profile import SideProfile
from scripts.local.processes.programs import BROKERS, COLLECT, PROVISION, programs, programs_of
from scripts.local.processes.session_priority import lower_session, restore_session
from scripts.local.processes.spark_programs import SPARK
from scripts.local.processes.supervisor import STOPPED, Supervisor
from scripts.local.progress import Progress
from scripts.local.services import pause_canary, says_ready, spark_ready, start_profile
from scripts.local.side import Code, Side
from scripts.local.twins.background import Background
from scripts.local.twins.last_words import last_words
from scripts.local.twins.parking import code_states, is_parked, stop_code
from scripts.local.twins.place import Twins
from scripts.local.twins.traffic import LocalTraffic
from scripts.local.twins.version_topics import ensure_topics_of
from scripts.local.twins.versions import NoVersionError, kept_code
from scripts.local.twins.warm_mark import is_marked_warm, mark_warm
from scripts.local.warmup.warmup import gentle

_RUNNING: Final = "RUNNING"


class CodeStart:
    """Starts and parks code on one side. May be asked from one thread."""

    def __init__(self, twins: Twins, name: str, warm_up_seconds: float) -> None:
        self._twins, self._name, self._warm_up_seconds = twins, name, warm_up_seconds
        self._supervisor, self._traffic = Supervisor(self.side), LocalTraffic(twins)
        self._background = Background()

    @property
    def side(self) -> Side:
        """The side, with the code that it was last given."""
        return self._twins.side(self._name)

    @property
    def versions(self) -> Path:
        """Folder of the code of all versions."""
        return self._twins.root / "versions"

    def parked(self) -> bool:
        """Whether none of the side's code runs, and none is being started.

        Raises:
            SupervisorError: if the supervisor does not answer.
        """
        return not self._background.busy and is_parked(self._supervisor)

    def unstartable(self, version: str) -> str:
        """Why a version could not be started, in words, and the fix; empty if its files are there."""
        try:
            self._code_of(version)
        except NoVersionError as error:
            return str(error)
        return ""

    def start(self, version: str) -> None:
        """Begin to start a version, unless that is under way or done.

        A part of it may be stopped: the process that was parking the side died. If all of it runs, an earlier
        failure is forgotten: a parking that failed, for example, has stopped nothing.

        Raises:
            OperatorError: if the supervisor does not answer, or the traffic is not known.
        """
        if self._background.busy or not self._is_up(version):
            self._background.want(f"start {version}", partial(self._start, version))
        else:
            self._background.forget()

    def give_way(self) -> None:
        """Leave the cores to the other side, as far as that wants them."""
        lower_session(self._supervisor.leader())

    def take_part(self) -> None:
        """Undo `give_way`."""
        restore_session(self._supervisor.leader())

    def park(self) -> None:
        """Begin to stop all code, unless that is under way or done."""
        if not self.parked():
            self._background.want("park", self._park)

    def pause_canary(self, seconds: int) -> None:
        """Let the side's own canary send nothing for so many seconds, if it runs and has one.

        Raises:
            OSError: if the canary does not answer.
            SupervisorError: if the supervisor does not answer.
        """
        if self._twins.profile is SideProfile.ALL and not self.parked():
            pause_canary(self.side, seconds)

    def waiting_for(self) -> list[str]:
        """Programs that are not ready, and why; empty once the side could take traffic.

        Raises:
            OperatorError: if the supervisor does not answer, or the traffic is not known.
        """
        if self._background.failure:
            return [self._background.failure]
        states = code_states(self._supervisor)
        wanted = [name for name, state in states.items() if state != STOPPED]
        if not wanted:
            return ["none of its code runs"]
        waiting = [
            f"{name} is {states[name].lower()}{self._why(name)}"
            for name in wanted
            if states[name] != _RUNNING
        ]
        if not spark_ready(self.side, self._supervisor):
            why = self._why_again(SPARK, states)
            waiting.append(f"spark: not all of its queries process data{why}")
        if not says_ready(self.side.collect_port):
            why = self._why_again(COLLECT, states)
            waiting.append(f"collect does not answer /readyz with 200{why}")
        if waiting or (self._warm() and not self._background.busy):
            return waiting
        return [self._background.said or "its warm-up is not over"]

    def crashes(self) -> int:
        """How often programs have ended by themselves since the version was started.

        Raises:
            SupervisorError: if the supervisor does not answer.
        """
        return sum(max(0, self._supervisor.starts(name) - 1) for name in code_states(self._supervisor))

    def _why_again(self, program: str, states: Mapping[str, str]) -> str:
        """Why a program that runs had ended before; what does not run is named with its reason already."""
        return self._why(program) if states[program] == _RUNNING else ""

    def _why(self, program: str) -> str:
        """Why a program ended that was started again; empty if none was."""
        if self._supervisor.starts(program) < 2:
            return ""
        said = last_words(self.side.logs / f"{program}.log")
        return f" ({said})" if said else ""

    def _runs(self, version: str) -> bool:
        code = self.side.code
        return code is not None and code.version == version and not is_parked(self._supervisor)

    def _is_up(self, version: str) -> bool:
        return self._runs(version) and self._warm() and not self._partly_stopped()

    def _partly_stopped(self) -> bool:
        states = code_states(self._supervisor)
        return any(states.get(name, STOPPED) == STOPPED for name in programs_of(self._twins.profile))

    def _warm(self) -> bool:
        return self._has_traffic() or is_marked_warm(self.side, self._supervisor)

    def _has_traffic(self) -> bool:
        return self._name in self._traffic.state().open_sides

    def _start(self, version: str, progress: Progress) -> None:
        if not self._runs(version):
            self._replace(version, progress)
        only_check = self._has_traffic()
        limits = gentle(0 if only_check else self._warm_up_seconds)
        start_profile(self.side, self._supervisor, self._twins.profile, progress, limits)
        if not only_check:
            mark_warm(self.side, self._supervisor)

    def _replace(self, version: str, progress: Progress) -> None:
        code = self._code_of(version)
        with progress.step(f"creating topics of {version}"):  # a driver waits for all that it knows
            ensure_topics_of(code, self.side)
        self._park(progress)
        side = replace(self.side, code=code)
        jars = ensure_jars(lambda _: None)
        mine = [each for each in programs(side, jars, self._twins.profile) if each.name not in BROKERS]
        side.spark_ready.unlink(missing_ok=True)
        self._supervisor.stop_program(PROVISION)
        self._supervisor.describe(mine)
        side.create()

    def _code_of(self, version: str) -> Code:
        return kept_code(version, self.versions, self._twins.sides)

    def _park(self, _: Progress) -> None:
        side = self.side
        stop_code(self._supervisor, programs(side, ensure_jars(lambda _: None), self._twins.profile))

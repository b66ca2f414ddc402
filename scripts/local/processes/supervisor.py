"""Configures, starts and controls supervisord, which runs a side's programs."""

import http.client
import json
import os
import shlex
import shutil
import socket
import subprocess
import sys
import time
import xmlrpc.client
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from supervisor.xmlrpc import Faults, SupervisorTransport

from scripts.local.folders import Folders
from scripts.local.process_marks import OF_SIDE, PROGRAM, STARTS, end, side_processes
from scripts.local.processes.program import Program
from scripts.local.pyspark_package import with_own_spark
from scripts.local.whole_file import write_whole
from shared.runtime.errors import OperatorError

_NAME: Final = "supervisor"
_PID_FILE: Final = "supervisord.pid"
_START_SECONDS: Final = 60
STOPPED: Final = "STOPPED"
_STOPPING: Final = "STOPPING"
ENDED: Final = frozenset({STOPPED, "FATAL"})
"""States of a program that stays ended; one that ended by itself is started again."""

_STOP_SECONDS: Final = 120
_ANSWER_SECONDS: Final = 30
"""It answers within a second; on a machine that is full, within some. One that is suspended never does."""

_POLL_SECONDS: Final = 0.1
_MAX_SOCKET_PATH: Final = 95
"""Linux allows 107 characters; supervisord appends its process id while it creates the socket."""


class SupervisorError(OperatorError):
    """The supervisor cannot be started, or refuses a request."""


class StoppingError(SupervisorError):
    """The supervisor ends its programs, and does nothing else any more."""


def configuration(programs: Sequence[Program], python: str) -> str:
    """supervisord.conf, with paths relative to the side's folder; no program starts automatically."""
    head = f"""\
[supervisord]
nodaemon = true
silent = true
logfile = logs/supervisord.log
logfile_maxbytes = 5MB
logfile_backups = 1
pidfile = run/{_PID_FILE}
childlogdir = logs

[unix_http_server]
file = run/supervisor.sock
chmod = 0600

[rpcinterface:supervisor]
supervisor.rpcinterface_factory = supervisor.rpcinterface:make_main_rpcinterface
"""
    return head + "".join([*_groups(programs), *(_section(program, python) for program in programs)])


def _groups(programs: Sequence[Program]) -> Iterator[str]:
    by_group = groupby(sorted(programs, key=_group), key=_group)
    for (order, name), members in by_group:
        yield f"\n[group:{name}]\nprograms = {','.join(p.name for p in members)}\npriority = {order}\n"


def _group(program: Program) -> tuple[int, str]:
    return program.order, program.group


def _section(program: Program, python: str) -> str:
    """Section of one program. It is restarted without limit, a second later each time.

    SIGTERM goes to the process itself, which ends its children cleanly (the driver its JVM); SIGKILL goes to
    the whole process group.
    """
    interpreter = shlex.quote(python).replace("%", "%%")
    return f"""
[program:{program.name}]
command = {interpreter} -m scripts.local.processes.exec_program run/{program.name}.json
autostart = false
autorestart = true
startretries = 1000000
startsecs = {program.start_seconds}
stopwaitsecs = {program.stop_seconds}
stopsignal = TERM
killasgroup = true
redirect_stderr = true
stdout_logfile = logs/{program.name}.log
stdout_logfile_maxbytes = 20MB
stdout_logfile_backups = 2
"""


class Supervisor:
    """A side's supervisord, running or not."""

    def __init__(self, side: Folders, answer_seconds: float = _ANSWER_SECONDS) -> None:
        """After `answer_seconds` without an answer it counts as silent."""
        self._side, self._answer_seconds = side, answer_seconds
        self._socket = side.run / "supervisor.sock"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, programs: Sequence[Program]) -> None:
        """Start supervisord without programs, in a session of its own so that Ctrl-C does not reach it.

        Raises:
            SupervisorError: if it does not answer.
        """
        if len(str(self._socket)) > _MAX_SOCKET_PATH:
            raise SupervisorError(
                f"{self._side.root} is too long a path for a Unix socket: use a shorter --data"
            )
        self.describe(programs)
        (self._side.run / "supervisord.conf").write_text(configuration(programs, sys.executable))
        environment = {**with_own_spark(os.environ), OF_SIDE: str(self._side.root), PROGRAM: _NAME}
        with (self._side.logs / "supervisord.out").open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "supervisor.supervisord", "-c", "run/supervisord.conf"],
                cwd=self._side.root,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._wait_for_answer()

    def describe(self, programs: Sequence[Program]) -> None:
        """Write what the next start of each of these programs runs, and forget how often they started."""
        for program in programs:
            write_whole(self._side.run / f"{program.name}.json", json.dumps(asdict(program)).encode())
            (self._side.run / f"{program.name}{STARTS}").unlink(missing_ok=True)

    def starts(self, program: str) -> int:
        """How often a program was started since it was described."""
        try:
            return (self._side.run / f"{program}{STARTS}").stat().st_size
        except FileNotFoundError:
            return 0

    def _wait_for_answer(self) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while not self.answers():
            if time.monotonic() > deadline or not self.alive:
                output = (self._side.logs / "supervisord.out").read_text().strip()
                raise SupervisorError(f"supervisord did not start: {output or 'no answer'}")
            time.sleep(_POLL_SECONDS)

    @property
    def alive(self) -> bool:
        """Whether the supervisord that this object started still runs."""
        return self._process is not None and self._process.poll() is None

    def leader(self) -> int:
        """Process id of supervisord, the first of the session of all its programs; 0 if there is none.

        By its file: traffic does not wait for a supervisord that does not answer.
        """
        try:
            return int((self._side.run / _PID_FILE).read_text())
        except (FileNotFoundError, ValueError):
            return 0

    def answers(self) -> bool:
        """Whether a supervisord answers on the side's socket, started by this object or not."""
        try:
            return bool(self._call("getState")["statename"] == "RUNNING")
        except (SupervisorError, xmlrpc.client.Fault):
            return False

    def states(self) -> dict[str, str]:
        """State of each program, as supervisord names it: RUNNING, BACKOFF, STOPPED ...

        Raises:
            SupervisorError: if it does not answer.
        """
        return {info["name"]: info["statename"] for info in self._call("getAllProcessInfo")}

    def pid(self, program: str) -> int:
        """Process id of a program; 0 if it does not run.

        Raises:
            SupervisorError: if it does not answer.
        """
        return int(self._call("getProcessInfo", self._full(program))["pid"])

    def start_program(self, program: str) -> None:
        """Start a program unless it runs; returns at once.

        Raises:
            SupervisorError: if it does not answer, or refuses.
        """
        try:
            self._call("startProcess", self._full(program), False)
        except xmlrpc.client.Fault as fault:
            if fault.faultCode != Faults.ALREADY_STARTED:
                raise SupervisorError(f"{program}: {fault.faultString}") from fault

    def stop_program(self, program: str) -> None:
        """Stop a program, SIGTERM first; returns when it has ended. It stays stopped until it is started.

        Raises:
            SupervisorError: if it does not answer, or refuses.
        """
        self._stop(program, wait=True)

    def _stop(self, program: str, *, wait: bool) -> None:
        try:
            self._call("stopProcess", self._full(program), wait, work_seconds=_STOP_SECONDS)
        except xmlrpc.client.Fault as fault:
            if fault.faultCode != Faults.NOT_RUNNING:
                raise SupervisorError(f"{program}: {fault.faultString}") from fault

    def stop_programs(self, programs: Sequence[str]) -> None:
        """Stop several programs at the same time; returns when all have ended.

        Raises:
            SupervisorError: if it does not answer, or one has not ended in time.
        """
        deadline = time.monotonic() + _STOP_SECONDS
        while still := self.not_ended(programs):
            if time.monotonic() > deadline:
                raise SupervisorError(f"{', '.join(still)}: not ended after {_STOP_SECONDS} s")
            for program, state in still.items():
                if state != _STOPPING:
                    self._stop(program, wait=False)  # again, if it was just being started again
            time.sleep(_POLL_SECONDS)

    def not_ended(self, programs: Sequence[str]) -> Mapping[str, str]:
        """Those of some programs that run, or will again, with their states.

        Raises:
            SupervisorError: if it does not answer.
        """
        states = self.states()
        return {each: states[each] for each in programs if states.get(each, STOPPED) not in ENDED}

    def shut_down(self) -> None:
        """End all programs in the reverse order of starting, then supervisord, then leftover processes."""
        try:
            self._call("shutdown")
        except (SupervisorError, xmlrpc.client.Fault):
            if self._process is not None:
                self._process.terminate()  # it does the same then
        if self._process is not None:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_STOP_SECONDS)
        end_leftovers(self._side.root)
        shutil.rmtree(self._side.temporary, ignore_errors=True)
        for name in ("supervisor.sock", _PID_FILE):
            (self._side.run / name).unlink(missing_ok=True)
        for ready in self._side.run.glob("*.ready"):
            ready.unlink()

    def _full(self, program: str) -> str:
        """The program's name with its group, as supervisord needs it."""
        found = self._call("getAllProcessInfo")
        return next((f"{i['group']}:{program}" for i in found if i["name"] == program), program)

    def _call(self, method: str, *arguments: object, work_seconds: float = 0) -> Any:
        """The answer to a request, with which supervisord has so much work.

        Raises:
            SupervisorError: if there is none.
            StoppingError: if supervisord ends its programs.
            Fault: if supervisord refuses the request for another reason.
        """
        try:
            transport = _Transport(self._socket, self._answer_seconds + work_seconds)
            with xmlrpc.client.ServerProxy("http://127.0.0.1", transport=transport) as server:
                return getattr(server.supervisor, method)(*arguments)
        except xmlrpc.client.Fault as fault:
            if fault.faultCode == Faults.SHUTDOWN_STATE:
                raise StoppingError("the side is being stopped", "wait, then `hifi up`") from fault
            raise
        except (OSError, http.client.HTTPException, xmlrpc.client.Error) as error:
            raise SupervisorError(
                f"the supervisor in {self._side.root} does not answer: {error}; `hifi down`, then `hifi up`"
            ) from error


class _Transport(SupervisorTransport):  # type: ignore[misc]  # the library has no types
    """supervisor's own waits for an answer without end."""

    def __init__(self, path: Path, seconds: float) -> None:
        super().__init__(None, None, f"unix://{path}")
        self._get_connection = lambda: _Connection(path, seconds)


class _Connection(http.client.HTTPConnection):
    """A connection to a Unix socket, with a limit for each wait."""

    def __init__(self, path: Path, seconds: float) -> None:
        super().__init__("localhost", timeout=seconds)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


def end_leftovers(root: Path, seconds: float = 10.0) -> int:
    """End every process of the side in `root`, its supervisor first; returns their number."""
    supervisors = side_processes(root, _NAME)
    end(supervisors, _STOP_SECONDS)
    others = side_processes(root)
    end(others, seconds)
    return len(supervisors) + len(others)

"""audit and observe as processes beside brokers and a store, and a client of observe."""

import http.client
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlencode

import msgspec
import psutil

from scripts.local.class_archives import spark_archive
from scripts.local.jars import ensure_jars
from scripts.local.process_marks import end, kill
from shared.contracts.alarms import Alarm
from shared.contracts.destination_health import DestinationHealth
from shared.contracts.scorecard import DayCard, EventLocation, EventSearch, MinuteCard, Now
from tests.harness.service_process import counts_lines
from tests.harness.waiting import eventually, free_port

T = TypeVar("T")
READY_SECONDS = 180


class Meter:
    """Client of observe at a port of this machine."""

    def __init__(self, port: int) -> None:
        self.port = port

    def ask(self, path: str, kind: type[T], **query: object) -> T:
        """The response as a struct of the contract."""
        status, body = self.reply("GET", f"{path}?{urlencode(query)}")
        assert status == 200, (path, query, body)
        return msgspec.json.decode(body, type=kind)

    def reply(self, method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
        """Status and body of a response."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body)
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def ready(self) -> bool:
        """Whether /readyz answers 200."""
        try:
            return self.reply("GET", "/readyz")[0] == 200
        except OSError:
            return False

    def now(self, tenant: str = "*") -> Now:
        return self.ask("/v1/now", Now, tenant=tenant)

    def minutes(self, tenant: str, since: int, until: int) -> list[MinuteCard]:
        """Cards of the minutes from `since` to `until`, both included; epoch minutes."""
        return self.ask("/v1/minutes", list[MinuteCard], tenant=tenant, **{"from": since, "to": until})

    def minute(self, tenant: str, minute: int) -> MinuteCard:
        return self.ask(f"/v1/minutes/{minute}", MinuteCard, tenant=tenant)

    def day(self, tenant: str, day: str) -> DayCard:
        return self.ask(f"/v1/days/{day}", DayCard, tenant=tenant)

    def alarms(self, tenant: str = "*") -> list[Alarm]:
        return self.ask("/v1/alarms", list[Alarm], tenant=tenant)

    def destinations(self, tenant: str = "*") -> list[DestinationHealth]:
        return self.ask("/v1/destinations", list[DestinationHealth], tenant=tenant)

    def places(self, tenant: str, event_id: str) -> list[EventLocation]:
        return self.ask(f"/v1/events/{event_id}", EventSearch, tenant=tenant).places


class Process:
    """A module as a process, with all its children."""

    def __init__(self, module: str, environment: dict[str, str], log: Path) -> None:
        self._module, self._environment, self._log = module, environment, log
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self._log.open("ab") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", self._module],
                env=os.environ | self._environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )

    def _tree(self) -> list[psutil.Process]:
        assert self._process is not None
        try:
            leader = psutil.Process(self._process.pid)
            return [leader, *leader.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def kill(self) -> None:
        """SIGKILL it and its children."""
        kill(self._tree())
        assert self._process is not None
        self._process.wait(30)

    def end(self) -> None:
        """End it at once, but where coverage.py counts its lines when it stops: nothing of it is needed."""
        if counts_lines():
            self.stop()
        elif self._process is not None:
            self.kill()

    def stop(self) -> None:
        """SIGTERM it, then end its remaining children."""
        if self._process is not None:
            tree = self._tree()
            self._process.terminate()
            try:
                self._process.wait(60)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait(30)
            end(tree, 10)

    def tail(self) -> str:
        return self._log.read_text(errors="replace")[-4_000:] if self._log.exists() else ""


class MeterProcesses:
    """audit and observe on the topics of `bootstrap`, which look often."""

    def __init__(self, bootstrap: str, folder: Path, store: str, settle_seconds: int) -> None:
        base = {"HIFI_BOOTSTRAP": bootstrap, "HIFI_ALLOW_LOOPBACK": "true"}
        self.meter, self._audit_ready = Meter(free_port()), folder / "audit.ready"
        jars = ensure_jars(print).spark
        spark = {
            "HIFI_CHECKPOINTS": str(folder / "checkpoints"),
            "HIFI_JARS": str(jars),
            "HIFI_CLASS_ARCHIVE": str(spark_archive(jars).file),
            "HIFI_MASTER": "local[4]",
            "HIFI_AUDIT_TRIGGER": "1 second",
            "HIFI_READY_FILE": str(self._audit_ready),
            "HIFI_METRICS_PORT": str(free_port()),
            "PYSPARK_PYTHON": sys.executable,
        }
        aws = {
            "HIFI_STORE_ENDPOINT": store,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": "eu-west-1",
        }
        observe = {
            "HIFI_PORT": str(self.meter.port),
            "HIFI_LOOK_SECONDS": "1",
            "HIFI_SETTLE_SECONDS": str(settle_seconds),
            "HIFI_STORE_TABLE": folder.name,
        }
        self.audit = Process("pipelines.control.audit", base | spark, folder / "audit.log")
        self.observe = Process("pipelines.control.observe", base | aws | observe, folder / "observe.log")

    @contextmanager
    def running(self) -> Iterator[Meter]:
        """Run both until the block ends."""
        with ExitStack() as stack:
            for process in (self.audit, self.observe):
                stack.callback(process.end)
                process.start()
            eventually(self.meter.ready, READY_SECONDS, "observe is ready", 0.5)
            eventually(self._audit_ready.exists, READY_SECONDS, "audit is ready", 0.5)
            yield self.meter

    def tails(self) -> str:
        return f"== audit\n{self.audit.tail()}\n== observe\n{self.observe.tail()}"


def shown(answers: Any) -> str:
    """Responses as indented JSON, for the message of a failed test."""
    return json.dumps(msgspec.to_builtins(answers), indent=1)

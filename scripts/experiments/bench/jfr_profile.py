"""CPU profile of a JVM by Java method: a Flight Recorder recording, counted by top frame."""

import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from scripts.experiments.bench.threads import kind
from scripts.experiments.harness.cpu import Seconds

_NAME = "hifi-bench"
_SECONDS = 60.0
_DEPTH = 12
_SAMPLE = re.compile(
    r'sampledThread = "(?P<thread>[^"]*)".*?stackTrace = \[\s*(?P<stack>.*?)\s*\]', re.DOTALL
)
_METHOD = re.compile(r"([\w.$]+\.[\w$<>]+)\(")
_LIBRARIES = ("org.apache.spark", "org.apache.kafka", "com.fasterxml", "net.jpountz", "org.apache.hadoop")


class MethodShares:
    """Percent of samples, greatest first; empty without Flight Recorder."""

    def __init__(self) -> None:
        self.top: Seconds = {}
        """Samples by the running method."""

        self.callers: Seconds = {}
        """Samples by kind of thread and the innermost class of Spark, Kafka, Jackson, LZ4 or Hadoop."""


@contextmanager
def recorded(java: int | None) -> Iterator[MethodShares]:
    """Record until the block ends, then fill in the result."""
    found = MethodShares()
    if java is None or not (shutil.which("jcmd") and shutil.which("jfr")):
        yield found
        return
    with TemporaryDirectory(prefix="hifi-jfr-") as folder:
        file = Path(folder, "recording.jfr")
        _command("jcmd", str(java), "JFR.start", f"name={_NAME}", "settings=profile")
        try:
            yield found
        finally:
            _command("jcmd", str(java), "JFR.stop", f"name={_NAME}", f"filename={file}")
        if file.exists():
            events = ("--events", "jdk.ExecutionSample", "--stack-depth", str(_DEPTH))
            stacks = list(samples(_command("jfr", "print", *events, str(file))))
            found.top = shares(stack[0] for _, stack in stacks)
            found.callers = shares(f"{kind(thread)}: {innermost(stack)}" for thread, stack in stacks)


def _command(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False).stdout


def samples(printed: str) -> Iterator[tuple[str, list[str]]]:
    """Thread and methods, innermost first, of each sample in the output of `jfr print`."""
    for found in _SAMPLE.finditer(printed):
        methods = _METHOD.findall(found["stack"])
        if methods:
            yield found["thread"], methods


def innermost(stack: Iterable[str]) -> str:
    """The class of the innermost method in `_LIBRARIES`, otherwise of the innermost method."""
    methods = list(stack)
    found = next((method for method in methods if method.startswith(_LIBRARIES)), methods[0])
    return found.rpartition(".")[0]


def shares(names: Iterable[str]) -> Seconds:
    """Percent by name, greatest first."""
    counts = Counter(names)
    return {name: count * 100 / counts.total() for name, count in counts.most_common()}

"""A child's lines within a process's own JSON."""

import json
import subprocess
import sys

_PROGRAM = """
import subprocess, sys, threading
from shared.spark.jvm_output import json_output
from shared.runtime.logging import configure_logging, get_logger
configure_logging("test")
child = '''
import sys
print('{"message": "from a logger", "process": "jvm"}', file=sys.stderr)
print("WARNING: past every logger", file=sys.stderr)
print("on the standard output")
print("x" * 100_000)
print("17")
'''
with json_output():
    running = subprocess.Popen([sys.executable, "-c", child])
running.wait()
[each.join(60) for each in threading.enumerate() if each.name == "jvm-output"]  # all is passed on
get_logger("own").info("directly")
"""


def test_a_childs_lines_come_out_as_json_each() -> None:
    done = _run(_PROGRAM)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    assert lines[0] == {"message": "from a logger", "process": "jvm"}
    texts = [line["message"] for line in lines]
    assert "WARNING: past every logger" in texts
    assert "on the standard output" in texts
    assert "17" in texts, "a number is JSON, and no object"
    assert sum(text.count("x") for text in texts if set(text) == {"x"}) == 100_000
    assert texts[-1] == "directly"


def test_uncaught_errors_of_threads_are_json() -> None:
    program = (
        "import threading\n"
        "from shared.runtime.logging import configure_logging\n"
        "configure_logging('test')\n"
        "def fail(): raise ValueError('why')\n"
        "t = threading.Thread(target=fail, name='one'); t.start(); t.join()\n"
        "raise KeyError('at the end')\n"
    )
    done = _run(program)
    assert done.returncode == 1
    thread, end = (json.loads(line) for line in done.stderr.splitlines())
    assert (thread["level"], thread["thread_name"]) == ("CRITICAL", "one")
    assert "why" in thread["exc_info"]
    assert "at the end" in end["exc_info"]


def _run(program: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", program]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)

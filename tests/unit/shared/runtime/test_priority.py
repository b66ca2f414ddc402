"""A process yields the cores to others, and takes them back."""

import os
import subprocess
import sys

_PROGRAM = """
import os, subprocess, sys, threading
from shared.runtime.priority import lower_priority

def nice(): return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

before = nice()
restore = lower_priority()
lowered = nice()
go, done, found = threading.Event(), threading.Event(), []
def work():
    go.wait()
    found.append(nice())
    done.set()
threading.Thread(target=work).start()
child = subprocess.Popen(["sleep", "60"])
below = os.getpriority(os.PRIO_PROCESS, child.pid)
restore()
go.set(); done.wait()
print(before, lowered, below, nice(), found[0], os.getpriority(os.PRIO_PROCESS, child.pid))
child.kill()
"""


def test_every_thread_and_child_gets_the_former_priority_back_where_the_system_permits_it() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM], capture_output=True, text=True, timeout=60, check=True
    )
    before, lowered, below, own, thread, child = map(int, done.stdout.split())
    if os.geteuid() == 0:
        assert (lowered, below) == (before + 5, before + 5)
        assert own == thread == child == before
    else:
        assert lowered == below
        assert own == thread == child

"""The priority of a session, where the system shares the cores between sessions."""

from pathlib import Path
from typing import Final

import pytest

_ENABLED: Final = Path("/proc/sys/kernel/sched_autogroup_enabled")
_GROUPS: Final = Path("/proc/self/cgroup")


def priority(leader: int) -> int:
    """The nice value of a leader's whole session against other sessions."""
    return int(Path(f"/proc/{leader}/autogroup").read_text().split()[-1])


def _shared_by_session() -> bool:
    """Linux does so among the processes of the root control group only."""
    if not _ENABLED.exists() or _ENABLED.read_text().strip() != "1":
        return False
    own = dict(line.split(":", 2)[1:] for line in _GROUPS.read_text().splitlines())
    return own.get("cpu", own.get("cpu,cpuacct", own.get(""))) == "/"


has_autogroups = pytest.mark.skipif(
    not Path("/proc/self/autogroup").exists(), reason="the system knows no priority of sessions"
)
shares_by_session = pytest.mark.skipif(
    not _shared_by_session(), reason="the system does not share the cores between sessions"
)

"""The priority of all processes of a session at once, against those of other sessions.

Where Linux groups processes by session (autogroups, sched(7)), it shares the cores between the sessions, and
the priority of one process counts within its session only. Elsewhere nothing here has an effect.
"""

import time
from pathlib import Path
from typing import Final

_NORMAL: Final = 0
_LOW: Final = 5
"""A third of what a session of normal priority gets, while both want more than there is."""

_AGAIN_SECONDS: Final = 0.11
"""Linux takes one change in 100 ms, of all users without special rights."""

_TRIES: Final = 50


def lower_session(leader: int) -> None:
    """Leave the cores to other sessions, as far as they want them.

    Args:
        leader: process id of the session's first process.
    """
    _set(leader, _LOW)


def restore_session(leader: int) -> None:
    """Undo `lower_session`; every user may."""
    _set(leader, _NORMAL)


def _set(leader: int, nice: int) -> None:
    path = Path(f"/proc/{leader}/autogroup")
    for _ in range(_TRIES):
        try:
            if path.read_text().split()[-1] != str(nice):
                path.write_text(str(nice))
        except BlockingIOError:
            time.sleep(_AGAIN_SECONDS)
        except (OSError, IndexError):
            return  # not Linux, not grouped, or ended
        else:
            return

"""The mark that a side's Spark driver was warmed up: a file with its process id.

So a driver that was started again does not count as warm.
"""

from typing import Final

from scripts.local.processes.spark_programs import SPARK
from scripts.local.processes.supervisor import Supervisor
from scripts.local.side import Side

_WARM: Final = "warm.ready"


def mark_warm(side: Side, supervisor: Supervisor) -> None:
    """Note that the Spark driver that runs now was warmed up.

    Raises:
        SupervisorError: if the supervisor does not answer.
    """
    (side.run / _WARM).write_text(str(supervisor.pid(SPARK)))


def is_marked_warm(side: Side, supervisor: Supervisor) -> bool:
    """Whether the Spark driver that runs now was warmed up, not only an earlier one.

    Raises:
        SupervisorError: if the supervisor does not answer.
    """
    try:
        said = (side.run / _WARM).read_text()
    except FileNotFoundError:
        return False
    return said == str(supervisor.pid(SPARK))

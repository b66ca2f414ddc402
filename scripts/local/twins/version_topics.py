"""The topics of a version that a local side is to run: brokers create none by themselves."""

from pathlib import Path
from typing import Final

from scripts.local.side import Code, Side
from scripts.local.twins.version_python import run_python
from shared.runtime.errors import OperatorError
from shared.runtime.program_output import last_line

_SCRIPT: Final = Path(__file__).with_name("make_topics.py")
_SECONDS: Final = 180.0


class TopicsMissingError(OperatorError):
    """Topics of a version cannot be created."""


def ensure_topics_of(code: Code, side: Side) -> None:
    """Create the topics that a version declares and the side lacks, by the version's own code.

    Raises:
        TopicsMissingError: if that fails.
        TimeoutError: if it takes too long.
    """
    # -P: modules beside the script are not to be found as if they were packages.
    done = run_python(code, "-P", str(_SCRIPT), side.bootstrap, str(side.partitions), seconds=_SECONDS)
    if done.returncode:
        raise TopicsMissingError(
            f"topics of version {code.version} cannot be created on {side.name}: {last_line(done.stderr)}"
        )

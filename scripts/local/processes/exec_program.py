"""`python -m scripts.local.processes.exec_program FILE`: replaces this process by one supervised program.

FILE is a JSON object with `command` and `environment`. First it makes sure that nothing of the program's
former life is left: when only the Spark driver's Python is killed, its JVM may still be writing, and two of
them on one checkpoint would harm each other; after a kill of the supervisor itself, its brokers live on.
"""

import json
import os
import sys
from pathlib import Path

from scripts.local.process_marks import OF_SIDE, PROGRAM, kill, side_processes


def main() -> None:
    """Read the file, end predecessors, become the program."""
    spec = json.loads(Path(sys.argv[1]).read_text())
    environment: dict[str, str] = {**os.environ, **spec["environment"]}
    kill(side_processes(Path(environment[OF_SIDE]), environment[PROGRAM]))
    os.execvpe(spec["command"][0], spec["command"], environment)  # noqa: S606 - no shell is the point


if __name__ == "__main__":
    main()

"""`python -m scripts.local.processes.exec_program FILE`: replaces this process by one supervised program.

FILE is a JSON object with `command`, `environment` and `folder`. It first ends processes that are left of the
program's earlier run. If only the Spark driver's Python process is killed, its JVM may still write, and two
JVMs on one checkpoint would corrupt it. If the supervisor itself is killed, its brokers still run.
"""

import json
import os
import sys
from pathlib import Path

from scripts.local.process_marks import OF_SIDE, PROGRAM, STARTS, kill, side_processes


def main() -> None:
    """Read the file, end earlier processes, become the program."""
    spec = json.loads(Path(sys.argv[1]).read_text())
    environment: dict[str, str] = {**os.environ, **spec["environment"]}
    kill(side_processes(Path(environment[OF_SIDE]), environment[PROGRAM]))
    with Path(sys.argv[1]).with_suffix(STARTS).open("ab") as starts:
        starts.write(b".")
    if spec["folder"]:
        Path(spec["folder"]).mkdir(parents=True, exist_ok=True)
        os.chdir(spec["folder"])
    os.execvpe(spec["command"][0], spec["command"], environment)  # noqa: S606 - no shell is the point


if __name__ == "__main__":
    main()

"""`python -m scripts.experiments.harness.destination PORT FILE`: a destination that records what arrives."""

import signal
import sys
import threading
from pathlib import Path

from scripts.load.receiver import Receiver, running


def main() -> None:
    """Receive until SIGTERM or SIGINT."""
    if len(sys.argv) != 3:
        raise SystemExit("usage: python -m scripts.experiments.harness.destination PORT FILE")
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    with running(Receiver(int(sys.argv[1]), out=Path(sys.argv[2]))):
        print("ready", flush=True)
        stopping.wait()


if __name__ == "__main__":
    main()

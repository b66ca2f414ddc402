"""Starts the first version of an environment, in the deployer's pod, which has the rights.

`kubectl -n hifi exec deployment/deploy -- python -m pipelines.control.backends.aws.first_version VERSION`.
A release compares a version with one that serves; the very first has none to be compared with.
"""

import sys
import time
from collections.abc import Callable, Sequence
from typing import Final

from pipelines.control.backends.aws.backend import aws_backend
from pipelines.control.deploy.backend import Backend, BackendError, FencedError

_BEFORE_ANY_RELEASE: Final = 0
_PAUSE_SECONDS: Final = 10.0


class CannotStartError(Exception):
    """It is not the first version, or cannot run there; the text says why."""


def start_first(backend: Backend, version: str, say: Callable[[str], None], pause: Callable[[], None]) -> str:
    """Start a version on the side that gets the traffic, and wait until it is ready; the side.

    The other side is not asked anything: before the edge stack is deployed, its cluster cannot be reached.

    Args:
        backend: two sides to which nothing was ever released.
        version: what to start.
        say: hears how far it is.
        pause: waits before the next look.

    Raises:
        CannotStartError: if a deployer has acted already, or if there is no such version.
        BackendError: if AWS does not answer.
    """
    weights = backend.weights()
    side = max(weights, key=lambda each: weights[each])
    if unstartable := backend.unstartable(side, version):
        raise CannotStartError(unstartable)
    while True:
        try:
            backend.start(side, version, fence=_BEFORE_ANY_RELEASE)
            found = backend.readiness(side)
        except FencedError as error:
            raise CannotStartError(f"`hifi deploy {version}` releases it: {error}") from error
        except BackendError as error:
            say(str(error))
        else:
            if found.ready:
                return side
            say(f"waiting for {', '.join(found.waiting_for)}")
        pause()


def main(arguments: Sequence[str]) -> int:
    """Exit status of the process."""
    (version,) = arguments
    try:
        side = start_first(aws_backend(), version, _say, lambda: time.sleep(_PAUSE_SECONDS))
    except (BackendError, CannotStartError) as error:
        _say(str(error))
        return 1
    _say(f"{version} serves on {side}")
    return 0


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""`python -m pipelines.management.api`: the management API."""

import sys

import uvloop
from pydantic import ValidationError

from pipelines.management.api.service import NODE, serve
from pipelines.management.api.settings import ApiSettings
from shared.dynamodb.client import StoreError
from shared.runtime.clock import wall_clock
from shared.runtime.logging import configure_logging, get_logger
from shared.runtime.shutdown import exit_zero_on_stop

_log = get_logger(__name__)


def main() -> int:
    """Exit status of the process."""
    configure_logging(NODE)
    exit_zero_on_stop()  # uvicorn finishes what is in flight, then raises the signal again
    try:
        settings = ApiSettings()  # type: ignore[call-arg]  # from the environment
        started = uvloop.run(serve(settings, wall_clock))
    except ValidationError as error:
        for fault in error.errors():
            _log.critical(
                "settings refused", extra={"field": ".".join(map(str, fault["loc"])), "error": fault["msg"]}
            )
        return 2
    except (StoreError, OSError) as error:
        _log.critical("cannot start", extra={"error": str(error)})
        return 1
    return 0 if started else 1


if __name__ == "__main__":
    sys.exit(main())

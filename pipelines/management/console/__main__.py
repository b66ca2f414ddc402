"""`python -m pipelines.management.console`: the web page for operators."""

import logging
import sys
from contextlib import AsyncExitStack

import uvloop
from pydantic import ValidationError

from pipelines.management.console.api_client import ApiClient
from pipelines.management.console.app import create_app
from pipelines.management.console.observe_client import ObserveClient
from pipelines.management.console.poller import Pollers
from pipelines.management.console.settings import ConsoleSettings
from shared.runtime.clock import wall_clock
from shared.runtime.logging import configure_logging, get_logger
from shared.runtime.shutdown import exit_zero_on_stop
from shared.runtime.uvicorn_config import keep_alive_seconds, serve_until_stopped, server_config

_log = get_logger(__name__)


async def serve(settings: ConsoleSettings) -> bool:
    """Serve until SIGTERM or SIGINT; False if the port could not be taken."""
    async with AsyncExitStack() as open_clients:
        observe = ObserveClient(settings.observe_url, settings.observe_timeout)
        pollers = Pollers(await open_clients.enter_async_context(observe), settings.poll_seconds, wall_clock)
        management = None if settings.api is None else ApiClient(settings.api, settings.api_timeout)
        if management is not None:
            await open_clients.enter_async_context(management)
        app = create_app(settings, pollers, management, wall_clock)
        config = server_config(
            app,
            host=settings.host,
            port=settings.port,
            drain_seconds=settings.drain_timeout,
            timeout_keep_alive=keep_alive_seconds(settings.public_url),
        )
        return await serve_until_stopped(config)


def main() -> int:
    """Exit status of the process."""
    configure_logging("console")
    logging.getLogger("httpx").setLevel(logging.WARNING)  # it logs every request
    exit_zero_on_stop()  # uvicorn finishes what is in flight, then raises the signal again
    try:
        started = uvloop.run(serve(ConsoleSettings()))  # type: ignore[call-arg]  # from the environment
    except ValidationError as error:
        for fault in error.errors():
            said = {"field": ".".join(map(str, fault["loc"])), "error": fault["msg"]}
            _log.critical("settings refused", extra=said)
        return 2
    return 0 if started else 1


if __name__ == "__main__":
    sys.exit(main())

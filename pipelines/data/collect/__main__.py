"""`python -m pipelines.data.collect`: one collect process."""

import sys

import uvloop

from pipelines.data.collect.service import CollectService
from pipelines.data.collect.settings import CollectSettings
from shared.runtime.gc_tuning import spare_collector
from shared.runtime.logging import configure_logging
from shared.runtime.shutdown import exit_zero_on_stop
from shared.runtime.uvicorn_config import serve_until_stopped, server_config


async def serve(settings: CollectSettings) -> bool:
    """Serve until SIGTERM or SIGINT; False if the port is in use."""
    async with CollectService(settings) as app:
        config = server_config(
            app,
            host=settings.host,
            port=settings.port,
            head_seconds=settings.head_timeout,
            ws="none",
            lifespan="off",
            timeout_keep_alive=settings.keep_alive,
            drain_seconds=settings.drain_timeout,
        )
        return await serve_until_stopped(config)


def main() -> int:
    """Exit status of the process."""
    configure_logging("collect")
    spare_collector()
    exit_zero_on_stop()  # uvicorn completes the requests in flight, then raises the signal again
    started = uvloop.run(serve(CollectSettings()))  # type: ignore[call-arg]  # from the environment
    return 0 if started else 1


if __name__ == "__main__":
    sys.exit(main())

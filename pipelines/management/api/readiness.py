"""Whether the process is ready, found out apart from the threads of requests, all of which may be taken."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor


class Readiness:
    """For one event loop."""

    def __init__(self, answers: Callable[[], bool]) -> None:
        """`answers` blocks, and says whether the table answers."""
        self._answers = answers
        self._thread = ThreadPoolExecutor(1, "ready")
        self._asked: asyncio.Future[bool] | None = None

    async def ready(self) -> bool:
        """Whether the table answers; who asks while it is asked gets the same answer."""
        if self._asked is None or self._asked.done():
            self._asked = asyncio.get_running_loop().run_in_executor(self._thread, self._answers)
        return await asyncio.shield(self._asked)

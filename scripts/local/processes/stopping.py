"""Signals that stop what runs in the foreground, and its end, which nothing breaks off."""

import signal
from collections.abc import Callable
from types import FrameType
from typing import Final

from scripts.local.processes.supervisor import Supervisor
from scripts.local.progress import Progress

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_Handler = Callable[[int, FrameType | None], None]


def stop_signals_interrupt() -> None:
    """Raise KeyboardInterrupt at the first SIGTERM or closed terminal too, as at Ctrl-C.

    Signals after it do nothing until this is called again: a closed terminal sends two, and the second one
    must not break off what the first one began. A signal that is ignored stays so: `nohup`.
    """

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        _handle(_nothing)
        raise KeyboardInterrupt

    _handle(interrupt)


def shut_down(supervisor: Supervisor, progress: Progress, doing: str) -> None:
    """End every process of a supervisor, whatever signals come and whether or not it can be shown."""

    def already(_number: int, _frame: FrameType | None) -> None:
        progress.last_words("already stopping; acknowledged events are being written")

    _handle(already)
    with progress.last_step(doing):
        supervisor.shut_down()


def _nothing(_number: int, _frame: FrameType | None) -> None:
    """Do nothing on a signal that comes while one is handled; with SIG_IGN, Python would warn."""


def _handle(handler: _Handler) -> None:
    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)

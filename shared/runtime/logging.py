"""Structured logs: one JSON object a line on stderr. They carry ids and reasons, never payloads or keys."""

import logging
import sys
import threading
from types import TracebackType
from typing import Final

from pythonjsonlogger.core import RESERVED_ATTRS
from pythonjsonlogger.json import JsonFormatter

_log = logging.getLogger(__name__)
_COLOURED: Final = "color_message"
"""A field of uvicorn's records: the message again, coloured for terminals."""


def get_logger(name: str) -> logging.Logger:
    """The logger of a module; pass fields as `extra={...}`."""
    return logging.getLogger(name)


def configure_logging(process: str, level: int = logging.INFO) -> None:
    """Log to stderr, including warnings and uncaught exceptions. Call once, from `__main__`."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        JsonFormatter(
            "%(asctime)s %(levelname)s %(name)s %(message)s",
            rename_fields={"asctime": "time", "levelname": "level", "name": "logger"},
            static_fields={"process": process},
            reserved_attrs=(*RESERVED_ATTRS, _COLOURED),
        )
    )
    logging.basicConfig(level=level, handlers=[handler], force=True)
    logging.getLogger("httpx").setLevel(logging.WARNING)  # by default it logs each request that succeeds
    logging.captureWarnings(True)
    sys.excepthook = _uncaught
    threading.excepthook = _uncaught_in_thread


def _uncaught(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    _log.critical("process ended by an uncaught error", exc_info=(kind, error, traceback))


def _uncaught_in_thread(found: threading.ExceptHookArgs) -> None:
    if found.exc_value is None or found.exc_type is SystemExit:
        return
    thread = found.thread.name if found.thread else ""
    cause = (found.exc_type, found.exc_value, found.exc_traceback)
    _log.critical("thread ended by an uncaught error", exc_info=cause, extra={"thread_name": thread})

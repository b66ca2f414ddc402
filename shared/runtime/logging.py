"""Structured logs: one JSON object a line on stderr. They carry ids and reasons, never payloads or keys."""

import logging
import sys

from pythonjsonlogger.json import JsonFormatter


def get_logger(name: str) -> logging.Logger:
    """The logger of a module; pass facts as `extra={...}`."""
    return logging.getLogger(name)


def configure_logging(process: str, level: int = logging.INFO) -> None:
    """Send this process's logs to stderr. Call once, from `__main__`."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        JsonFormatter(
            "%(asctime)s %(levelname)s %(name)s %(message)s",
            rename_fields={"asctime": "time", "levelname": "level", "name": "logger"},
            static_fields={"process": process},
        )
    )
    logging.basicConfig(level=level, handlers=[handler], force=True)

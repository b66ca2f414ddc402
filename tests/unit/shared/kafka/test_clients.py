"""Kafka clients log through the process's logger: librdkafka's own lines on stderr are not JSON."""

import ast
from collections.abc import Iterator
from pathlib import Path

_CLIENTS = {"AdminClient", "Consumer", "Producer"}
_SILENT = Path("shared/kafka/admin.py")
"""Its log level is 0: its callers get an error with the cause."""


def _unlogged(source: str) -> Iterator[int]:
    """Lines that create a client without a logger."""
    if not any(each in source for each in _CLIENTS):
        return  # without parsing it, which takes milliseconds
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in _CLIENTS
            and not any(keyword.arg == "logger" for keyword in node.keywords)
        ):
            yield node.lineno


def test_every_kafka_client_has_a_logger() -> None:
    sources = {path for folder in ("shared", "pipelines", "scripts") for path in Path(folder).rglob("*.py")}
    found = {f"{path}:{line}" for path in sources - {_SILENT} for line in _unlogged(path.read_text())}
    assert not found


def test_a_client_without_a_logger_is_found() -> None:
    assert [*_unlogged("reader = Consumer(config)\nwriter = Producer(config, logger=log)")] == [1]

"""The arguments that a Spark worker gives `java` when it starts an executor. Pure."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

_MAIN: Final = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
_PROPERTY: Final = "-Dspark."
_FLAG: Final = "-X"
_LEAST_HEAP: Final = "-Xms"
_HEAP: Final = "-Xmx"


class ExecutorCommand(NamedTuple):
    """The arguments, taken apart."""

    java_arguments: Sequence[str]
    """All of them."""

    memory: str
    """The heap's size, as Java writes it."""

    options: str
    """Flags of the JVM, but for the size of its heap."""

    properties: Mapping[str, str]
    """Spark's settings among the system properties."""

    arguments: Sequence[str]
    """Arguments of the executor's main class."""


def executor_command(java_arguments: Sequence[str]) -> ExecutorCommand:
    """Read the arguments with which a worker starts an executor.

    Raises:
        ValueError: if they start anything else, or name no size of the heap.
    """
    at = java_arguments.index(_MAIN)
    words = java_arguments[:at]
    memory = [word.removeprefix(_HEAP) for word in words if word.startswith(_HEAP)]
    if not memory:
        raise ValueError(f"{_HEAP} is missing: a worker gives every executor one")
    set_to = (word.removeprefix("-D").partition("=") for word in words if word.startswith(_PROPERTY))
    return ExecutorCommand(
        java_arguments=java_arguments,
        memory=memory[-1],
        options=" ".join(word for word in words if _is_option(word)),
        properties={name: value for name, _, value in set_to},
        arguments=java_arguments[at + 1 :],
    )


def _is_option(word: str) -> bool:
    return word.startswith(_FLAG) and not word.startswith((_HEAP, _LEAST_HEAP))

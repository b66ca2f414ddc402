"""Where PySpark is installed, and the environment in which that Spark runs, not another one."""

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from shared.runtime.errors import OperatorError

_OF_SPARK: Final = ("SPARK_", "PYSPARK_", "HADOOP_", "YARN_")
"""Beginnings, after an underscore or none, of the names of variables by which a user's shell says which Spark
runs, with which options, Python, configuration and file system."""


class PySparkMissingError(OperatorError):
    """PySpark is not installed; the text says what to do."""


def pyspark_folder() -> Path:
    """Its folder, found without importing it: that would cost each command a tenth of a second.

    Raises:
        PySparkMissingError: if it is not installed.
    """
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise PySparkMissingError("pyspark is not installed: `make setup`")
    return Path(spec.origin).parent


def with_own_spark(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment for processes that start Spark: PySpark's own, whatever the user's other Spark needs.

    Raises:
        PySparkMissingError: if it is not installed.
    """
    kept = {name: value for name, value in environment.items() if not _is_of_spark(name)}
    # As PySpark finds itself: the archives of classes hold for this path.
    return kept | {"SPARK_HOME": str((pyspark_folder() / "find_spark_home.py").resolve().parent)}


def _is_of_spark(name: str) -> bool:
    return name.removeprefix("_").startswith(_OF_SPARK)

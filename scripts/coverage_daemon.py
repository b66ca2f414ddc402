"""Spark's daemon of Python workers, for `make coverage`: each worker saves what it measured after every task.

Spark ends its workers by SIGHUP or SIGKILL, so what they measured has to be saved before. Spark starts this
module instead of its own if `spark.python.daemon.module` names it; a side never does.
"""

import socket

import coverage
from pyspark import daemon

_spark_worker = daemon.worker


def _measured_worker(sock: socket.socket, authenticated: bool) -> int:
    try:
        return _spark_worker(sock, authenticated)
    finally:
        if (measured := coverage.Coverage.current()) is not None:
            measured.save()


if __name__ == "__main__":
    daemon.worker = _measured_worker
    daemon.manager()

"""A simulated AWS on a local socket: moto's server, and the environment that points boto3 to it."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any

import boto3
from moto.core.base_backend import BackendDict
from moto.core.model_instances import reset_model_data
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import make_server

from tests.harness.http_server import STOP_SECONDS

REGION = "eu-west-1"


@contextmanager
def local_aws(port: int = 0) -> Iterator[str]:
    """Run the server until the block ends; yields its URL. The default is a free port."""
    logging.getLogger("werkzeug").setLevel(logging.WARNING)
    aws = DomainDispatcherApplication(create_backend_app)
    server = make_server("127.0.0.1", port, aws, threaded=True, request_handler=MotoRequestHandler)
    thread = Thread(target=server.serve_forever, args=(STOP_SECONDS,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        BackendDict.reset()  # moto keeps its state in the process, not in the server
        reset_model_data()


def client(service: str, url: str, key: str = "testing", secret: str = "testing") -> Any:
    """A boto3 client of the server at a URL."""
    return boto3.client(
        service,
        region_name=REGION,
        endpoint_url=url,
        aws_access_key_id=key,
        aws_secret_access_key=secret,
    )

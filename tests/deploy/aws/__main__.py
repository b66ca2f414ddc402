"""Serve a local AWS until it is stopped: `python -m tests.deploy.aws --port 4566`."""

import argparse
import sys

from tests.deploy.aws.connections import AVAILABLE
from tests.deploy.aws.server import LOCAL, LocalAws, bind


def main() -> None:
    """Serve in the foreground."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=4566, help="port on the loopback address")
    port = parser.parse_args().port
    aws = LocalAws(LOCAL, first_connection_status=AVAILABLE)
    server = bind(aws, port)
    sys.stderr.write(f"local AWS at {aws.endpoint}: moto, and what the stacks need of MSK and EKS\n")
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        server.server_close()


if __name__ == "__main__":
    main()

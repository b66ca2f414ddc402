"""Random names of runs, which keep the events' ids of different runs apart."""

import secrets


def new_run_id() -> str:
    """Eight random characters."""
    return secrets.token_hex(4)

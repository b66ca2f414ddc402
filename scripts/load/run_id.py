"""A name for one run of a load, so that its events' ids are like no other run's."""

import secrets


def new_run_id() -> str:
    """Eight random characters."""
    return secrets.token_hex(4)

"""An activity that is kept alive while its work lasts, for work that may take longer than its lease."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from shared.contracts.diamond.activities import Activity
from shared.dynamodb.activity_register import ActivityRegister, LostError
from shared.dynamodb.client import StoreError
from shared.dynamodb.renewed_lease import RENEWALS
from shared.runtime.logging import get_logger

_log = get_logger(__name__)


@contextmanager
def kept_activity(register: ActivityRegister, begun: Activity) -> Iterator[None]:
    """Beat while the block runs, from a thread of its own, which alone uses the register; then end it.

    For work that cannot stop half-way: if the activity is lost, or the table does not answer, that is logged,
    and the block goes on.
    """
    done = threading.Event()
    thread = threading.Thread(target=_keep, args=(register, begun, done), name="activity", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _keep(register: ActivityRegister, held: Activity, done: threading.Event) -> None:
    while not done.wait(held.lease_seconds / RENEWALS):
        try:
            held = register.renew(held)
        except LostError as error:
            _log.warning("an activity was lost, others may act", extra={"error": str(error)})
            return
        except StoreError as error:
            _log.warning("an activity cannot be kept alive, trying again", extra={"error": str(error)})
    try:
        register.end(held)
    except StoreError as error:
        _log.warning("an activity cannot be ended, its lease ends it", extra={"error": str(error)})

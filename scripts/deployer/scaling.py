"""Scaling of a local side as an activity in its register: others wait for it, and scaling in for them."""

import getpass
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import httpx

from scripts.deployer.activities import begun_or_refused, opened_register
from scripts.deployer.side_address import local_address
from scripts.local.side import Side
from scripts.terminal import err, printable
from shared.contracts.diamond.activities import Action
from shared.contracts.diamond.stability import SILENT, Stability
from shared.dynamodb.client import StoreError
from shared.dynamodb.kept_activity import kept_activity
from shared.runtime.errors import OperatorError
from shared.runtime.side_stability import asked_stability


@contextmanager
def scaling(side: Side, action: Action, reason: str, *, forced: bool) -> Iterator[None]:
    """Let others know of it for as long as the block runs.

    Nothing keeps it from scaling out, a register that does not answer included.

    Args:
        side: that is scaled.
        action: SCALE_OUT or SCALE_IN.
        reason: for people.
        forced: an operator lets scaling in through.

    Raises:
        OperatorError: if scaling in has to wait, or it is not known whether it has.
    """
    register = opened_register(local_address(side), f"scale-{getpass.getuser()}")
    with ExitStack() as kept:
        try:
            health = _stability(side) if action is Action.SCALE_IN else SILENT  # is not asked for
            begun = begun_or_refused(register, action, reason, health, forced=forced)
        except StoreError as error:
            if action is Action.SCALE_IN and not forced:
                raise OperatorError(f"not begun: {error}", "`hifi doctor` says why, or --force") from error
            err().print(f"[yellow]others cannot see it:[/] {printable(str(error))}", highlight=False)
        else:
            kept.enter_context(kept_activity(register, begun))
        yield


def _stability(side: Side) -> Stability:
    with httpx.Client(base_url=side.observe_url) as observe:
        return asked_stability(observe)

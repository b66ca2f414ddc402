"""Permits of all tenants together, and of one tenant."""

from contextlib import ExitStack

import pytest

from shared.runtime.concurrency_limit import TenantConcurrencyLimit


class FullError(Exception):
    """No permit for any tenant."""


class TenantFullError(Exception):
    """No permit for this tenant."""


def limit() -> TenantConcurrencyLimit:
    return TenantConcurrencyLimit(3, 2, FullError, TenantFullError)


def test_one_tenant_alone_cannot_take_all_permits() -> None:
    permits = limit()
    with permits.permit("a"), permits.permit("a"):
        with pytest.raises(TenantFullError), permits.permit("a"):
            pass
        with permits.permit("b"), pytest.raises(FullError), permits.permit("c"):
            pass


def test_a_permit_comes_back_however_its_block_ends() -> None:
    permits = limit()
    for _ in range(5):
        with pytest.raises(ZeroDivisionError), permits.permit("a"):
            raise ZeroDivisionError
    with permits.permit("a"), permits.permit("a"):
        pass


def test_a_refusal_by_the_process_costs_the_tenant_no_permit() -> None:
    permits = limit()
    with ExitStack() as others:
        for tenant in ("a", "b", "c"):
            others.enter_context(permits.permit(tenant))
        for _ in range(5):
            with pytest.raises(FullError), permits.permit("d"):
                pass
    with permits.permit("d"), permits.permit("d"):
        pass

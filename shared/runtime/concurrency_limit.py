"""Bounds how many callers do a costly thing at once in a process; further ones are refused at once."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class ConcurrencyLimit:
    """A number of permits. May be used from any thread."""

    def __init__(self, most: int, refusal: Callable[[], Exception]) -> None:
        """`refusal` makes what is raised while `most` permits are given out."""
        self._free, self._refusal = threading.BoundedSemaphore(most), refusal

    @contextmanager
    def permit(self) -> Iterator[None]:
        """A permit, until the block ends.

        Raises:
            Exception: the refusal: none is free.
        """
        if not self._free.acquire(blocking=False):
            raise self._refusal()
        try:
            yield
        finally:
            self._free.release()


class TenantConcurrencyLimit:
    """A number of permits, of which one tenant has some at most. May be used from any thread."""

    def __init__(
        self,
        most: int,
        most_of_tenant: int,
        refusal: Callable[[], Exception],
        tenant_refusal: Callable[[], Exception],
    ) -> None:
        """Give out permits.

        Args:
            most: permits of all tenants together.
            most_of_tenant: fewer, so that one tenant alone cannot keep the others out.
            refusal: makes what is raised while `most` are given out.
            tenant_refusal: makes what is raised while the tenant has `most_of_tenant`.
        """
        self._all = ConcurrencyLimit(most, refusal)
        self._most_of_tenant, self._tenant_refusal = most_of_tenant, tenant_refusal
        self._lock = threading.Lock()
        self._held: Counter[str] = Counter()

    @contextmanager
    def permit(self, tenant: str) -> Iterator[None]:
        """A permit for a tenant, until the block ends.

        Raises:
            Exception: a refusal: none is free, or none for this tenant.
        """
        with self._of(tenant), self._all.permit():
            yield

    @contextmanager
    def _of(self, tenant: str) -> Iterator[None]:
        with self._lock:
            if self._held[tenant] >= self._most_of_tenant:
                raise self._tenant_refusal()
            self._held[tenant] += 1
        try:
            yield
        finally:
            with self._lock:
                self._held[tenant] -= 1
                self._held += Counter()  # forgets those at zero

"""HTTP statuses that several nodes treat alike."""

from typing import Final

RETRYABLE: Final = frozenset({408, 429})
"""Client errors after which the same request may succeed later (RFC 9110, 15.5.9; RFC 6585, 4)."""

"""Partitions of the control plane's table `documents`. Strings alone: infra names them in policies."""

from typing import Final

RELEASES: Final = "releases#"
"""Releases of both sides: .releases."""

ACTIVITIES: Final = "activities#"
"""A side's register is in the partition of this and the side's name: .diamond."""

LEASES: Final = "leases#"
"""Leases of processes that work on the table: shared.dynamodb.lease."""

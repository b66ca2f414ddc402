"""How a canary is asked to send nothing for a while: a PUT to its port.

Its receiver goes on meanwhile, so that what it sent before is delivered. A pause ends by itself: nothing that
dies after it asked leaves a side without its canary.
"""

from typing import Final

PAUSE_PATH: Final = "/pause"
"""The body is the number of seconds from now, whole; 0 ends a pause."""

MOST_PAUSE_SECONDS: Final = 3_600

PAUSE_SECONDS: Final = 60
"""The pause that a deployer asks for, again and again, while a side has to process all that it has."""

"""Makes the topics of a version: run by its path, in a process in which `shared` is that of the version.

`PYTHONPATH=VERSION python -P make_topics.py BOOTSTRAP PARTITIONS`, as the job of a side in AWS does it. What
it imports has to be there in every version that can be released, so it is as little as possible.
"""

import sys
from typing import Final

from shared.contracts.topics import topic_specs
from shared.kafka.admin import AdminError, admin_client, ensure_topics, topic_partitions

_SECONDS: Final = 120.0
_NONE_MISSING_SECONDS: Final = 5.0
"""If none is needed, brokers that are not in sync may not hold up a side that is started on the way back."""


def make_topics(bootstrap: str, partitions: int) -> None:
    """Create the topics and partitions that are missing, and lengthen retentions.

    Raises:
        AdminError: if some are missing, and the brokers do not answer or refuse.
        KafkaException: if no broker answers.
    """
    specs = topic_specs(partitions)
    known = topic_partitions(admin_client(bootstrap))
    if any(known.get(str(spec.name), 0) < spec.partitions for spec in specs):
        ensure_topics(bootstrap, specs, _SECONDS)
        return
    try:
        ensure_topics(bootstrap, specs, _NONE_MISSING_SECONDS)
    except AdminError as error:
        sys.stderr.write(f"none is missing; {error}\n")


if __name__ == "__main__":
    make_topics(sys.argv[1], int(sys.argv[2]))

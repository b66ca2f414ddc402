"""A version with a topic unknown to this checkout gets it from real brokers."""

from pathlib import Path

from scripts.local.kafka.cluster import Cluster
from scripts.local.twins.version_topics import ensure_topics_of
from scripts.local.twins.versions import CHECKOUT, code_of
from shared.kafka.admin import admin_client, topic_partitions
from tests.harness.bad_versions import Edit, commit_with

FILE, ADDED = "shared/contracts/topics.py", "scores"
EDITS = [
    Edit(FILE, '    TRACES = "traces"\n', f'    TRACES = "traces"\n    SCORES = "{ADDED}"\n'),
    Edit(FILE, "Topic.UNMATCHED, Topic.TRACES)\n", "Topic.UNMATCHED, Topic.TRACES, Topic.SCORES)\n"),
]


def test_running_brokers_get_a_topic_that_only_the_version_declares(
    topics: str, brokers: Cluster, tmp_path: Path
) -> None:
    admin = admin_client(topics)  # its futures fail when the client is deleted
    known = topic_partitions(admin)
    code = code_of(commit_with(EDITS, "A version with one topic more", CHECKOUT), tmp_path)
    try:
        for _ in range(2):
            ensure_topics_of(code, brokers.side)
            found = topic_partitions(admin)
            assert {**found, **known, ADDED: 1} == found
    finally:
        (deleted,) = admin.delete_topics([ADDED]).values()
        deleted.result(60)

"""Sixteen writers on four documents, while the process is killed and started again."""

import threading
import time
from http.client import HTTPException
from pathlib import Path

from tests.contract.management.api_process import ANY, NEW, ApiProcess, destination
from tests.harness.waiting import eventually

WRITERS, DOCUMENTS, SECONDS, KILLS = 16, 4, 5.0, 2
Acknowledged = list[tuple[str, int, float]]


def path_of(number: int) -> str:
    return f"/v1/tenants/acme/destinations/acme.{number % DOCUMENTS}"


def write_until(api: ApiProcess, writer: int, deadline: float, acknowledged: Acknowledged) -> None:
    """Change a document under the version just read, with a value of this writer's own each time."""
    path, turn = path_of(writer), 0
    while time.monotonic() < deadline:
        turn += 1
        value = 1 + writer / 100 + turn / 1_000_000
        try:
            seen = api.ask("GET", path).headers.get("etag", "")
            answer = api.ask("PUT", path, destination(value), {"If-Match": seen} if seen else NEW)
        except (OSError, HTTPException):  # killed before or during its answer
            time.sleep(0.02)
            continue
        if answer.status in (200, 201):
            acknowledged.append((path, answer.json["version"], value))


def history(api: ApiProcess, path: str) -> list[tuple[int, float]]:
    """Versions and values, oldest first."""
    found, cursor = [], ""
    while cursor is not None:
        page = api.ask("GET", f"{path}/history?limit=200{cursor and '&cursor=' + cursor}").json
        found += [(each["version"], each["document"]["timeout_seconds"]) for each in page["items"]]
        cursor = page["next"]
    return found[::-1]


def test_every_acknowledged_write_is_in_the_history_once_and_in_order(
    dynamodb_local: str, tmp_path: Path
) -> None:
    api = ApiProcess(tmp_path, dynamodb_local)
    written: list[Acknowledged] = [[] for _ in range(WRITERS)]
    deadline = time.monotonic() + SECONDS
    threads = [
        threading.Thread(target=write_until, args=(api, writer, deadline, written[writer]))
        for writer in range(WRITERS)
    ]
    try:
        for thread in threads:
            thread.start()
        for _ in range(KILLS):
            time.sleep(SECONDS / (KILLS + 1))
            api.kill()
            api.restart()
        for thread in threads:
            thread.join()
        eventually(api.ready, 30)
        acknowledged = [each for one in written for each in one]
        assert len(acknowledged) > DOCUMENTS
        for number in range(DOCUMENTS):
            versions = history(api, path_of(number))
            assert [version for version, _ in versions] == list(range(1, len(versions) + 1))
            mine = [(version, value) for path, version, value in acknowledged if path == path_of(number)]
            assert len(set(mine)) == len(mine)
            assert set(mine) <= set(versions)
        for one in written:
            assert [version for _, version, _ in one] == sorted({version for _, version, _ in one})
    finally:
        api.kill()


def test_without_a_condition_on_the_version_the_last_writer_wins(api: ApiProcess) -> None:
    path = "/v1/tenants/last/destinations/last.d"
    answers = [api.ask("PUT", path, destination(value), ANY) for value in (1, 2, 3)]
    assert [answer.json["version"] for answer in answers] == [1, 2, 3]

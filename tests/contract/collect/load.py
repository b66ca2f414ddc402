"""A steady load of batches on a collect process, with a record of acknowledged events."""

import http.client
import threading
from collections import Counter
from itertools import count

import msgspec

from tests.contract.collect.process import BATCH, KEY, encoded, event
from tests.harness.service_process import HOST

_BATCH = 20


class Load:
    """Several clients, each with one open request at any time, until the block ends."""

    def __init__(self, port: int, clients: int = 8) -> None:
        self.acknowledged: set[str] = set()
        self.statuses: Counter[int] = Counter()
        self._port = port
        self._stopping = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(n,)) for n in range(clients)]

    def __enter__(self) -> "Load":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join()

    def _run(self, client: int) -> None:
        for turn in count():
            if self._stopping.is_set():
                return
            ids = [f"{client}-{turn}-{n}" for n in range(_BATCH)]
            try:
                status, body = self._post(encoded(*(event(id=each) for each in ids)))
            except (OSError, http.client.HTTPException):
                self._stopping.wait(0.02)
                continue
            self.statuses[status] += 1
            if status == 202:
                self.acknowledged.update(msgspec.json.decode(body)["ids"])
            else:
                self._stopping.wait(0.05)

    def _post(self, body: bytes) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(HOST, self._port, timeout=90)
        try:
            headers = {"authorization": f"Bearer {KEY}", "content-type": BATCH}
            connection.request("POST", "/v1/events", body, headers)
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

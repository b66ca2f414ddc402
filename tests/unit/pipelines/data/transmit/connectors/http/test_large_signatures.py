"""Large requests are signed on a thread: the worker's other deliveries go on meanwhile."""

import asyncio
import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import pytest

from pipelines.data.transmit.connectors import webhook
from pipelines.data.transmit.connectors.base import ConnectorContext
from shared.connectors.webhook import Options, Signing
from shared.contracts import signing
from shared.contracts.documents import Destination
from tests.contract.transmit_rig import Held
from tests.unit.pipelines.data.transmit.transmit_events import event

KEY = "whsec_" + "a" * 32
LARGE = 1024 * 1024


class Unreachable:
    """A session with failing requests only."""

    def request(self, *_: Any, **__: Any) -> Any:
        raise ConnectionRefusedError


@pytest.mark.parametrize(
    ("data_bytes", "keys", "on_thread"), [(LARGE, 1, True), (LARGE // 10, 2, True), (LARGE // 10, 1, False)]
)
def test_what_takes_long_to_sign_is_signed_on_a_thread(
    monkeypatch: pytest.MonkeyPatch, data_bytes: int, keys: int, on_thread: bool
) -> None:
    signed, seen = signing.signed, list[threading.Thread]()

    def watched(keys: Iterable[bytes], message: str, seconds: int, body: bytes) -> dict[str, str]:
        seen.append(threading.current_thread())
        return signed(keys, message, seconds, body)

    monkeypatch.setattr(signing, "signed", watched)
    held = Held()
    held.values = {"secret://t/key": KEY}
    options = Options(url="https://example.com", signing=Signing(keys=("secret://t/key",) * keys))
    destination = Destination(name="d", tenant="t", connector="webhook")

    async def send() -> None:
        with ThreadPoolExecutor(1, "computing") as threads:
            context = ConnectorContext(
                session=cast(Any, Unreachable()),
                secrets=held,
                egress=cast(Any, None),
                resolver=cast(Any, None),
                threads=threads,
                clock=lambda: 0,
            )
            connector = webhook.Webhook(context)
            (answer,) = await connector.send(destination, options, [event(value=b"1" * data_bytes)], 60)
            assert answer.status is None
            await connector.close()

    asyncio.run(send())
    assert [each.name.startswith("computing") for each in seen] == [on_thread]

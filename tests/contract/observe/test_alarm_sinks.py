"""Alarms reach their receivers through real sockets: SNS, the operator's webhook, customers' webhooks."""

import base64
import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from pipelines.control.observe.alarms.inputs import Inputs, NodeProgress
from pipelines.control.observe.alarms.service import Alarms
from pipelines.control.observe.dynamodb import Item, Store
from shared.contracts.alarms import AlarmKind, QuietWindow
from shared.contracts.documents import Catalogue, Contact, Entry
from shared.contracts.scorecard import ALL_TENANTS
from shared.contracts.signing import key_of, signed
from shared.dynamodb.client import StoreError
from shared.runtime.clock import wall_clock
from shared.runtime.secret_stores import store_for
from shared.runtime.secrets import SecretTable
from tests.contract.observe.alarm_far import Far, far
from tests.harness.local_aws import REGION, client, local_aws
from tests.harness.waiting import eventually, free_port
from tests.unit.pipelines.control.observe.alarm_inputs import destination, settings

KEY: Final = "whsec_" + base64.b64encode(bytes(range(32))).decode()


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    with local_aws() as url:
        yield url


@pytest.fixture
def store(aws: str) -> Store:
    found = Store("alarms", aws)
    found.ensure()
    return found


@pytest.fixture
def receiver() -> Iterator[Far]:
    with far() as found:
        yield found


@pytest.fixture
def secrets(tmp_path: Path) -> Iterator[SecretTable]:
    path = tmp_path / "secrets.yaml"
    path.write_text(f"operators/alarms: {KEY}\nshop/alarms: {KEY}\n")
    path.chmod(0o600)
    table = SecretTable(store_for("local", path)).start()
    yield table
    table.stop()


Start = Callable[..., Any]


@pytest.fixture
def start(store: Store, secrets: SecretTable) -> Start:
    """Starts alarms as observe does, with contacts and settings."""

    @contextmanager
    def started(*contacts: Contact, now: Callable[[], int] = wall_clock, **given: Any) -> Iterator[Alarms]:
        fields = {"allow_loopback": True, "alarm_hold_seconds": 0} | given
        entries = {each.name.encode(): Entry(version=1, document=each) for each in contacts}
        catalogue = Catalogue(entries)
        alarms = Alarms(settings(**fields), store, lambda: catalogue, secrets, now)
        try:
            alarms.restore()
            yield alarms
        finally:
            alarms.close()

    return started


def stalled(*nodes: str, at_ms: int | None = None) -> Inputs:
    now = wall_clock() if at_ms is None else at_ms
    stuck = [NodeProgress(node=node, readable=5, moved_ms=now - 120_000) for node in nodes]
    return Inputs(at_ms=now, cards={}, nodes=stuck)


def refused() -> Inputs:
    """A customer's endpoint that answers 404."""
    return Inputs(at_ms=wall_clock(), cards={}, destinations=[destination(reasons={"404 refused": 3})])


def test_sns_is_told_when_an_alarm_opens_and_when_it_is_resolved(aws: str, start: Start) -> None:
    sns, sqs = client("sns", aws), client("sqs", aws)
    topic = sns.create_topic(Name="alarms")["TopicArn"]
    queue = sqs.create_queue(QueueName="read")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn)
    came: list[dict[str, Any]] = []

    def received(count: int) -> bool:
        for message in sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10).get("Messages", ()):
            came.append(json.loads(message["Body"]))
            sqs.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])
        return len(came) >= count

    with start(alarm_topic=topic, alarm_topic_endpoint=aws) as alarms:
        alarms.update(stalled("route"))
        eventually(lambda: received(1), 20, "SNS was told nothing")
        alarms.update(stalled())
        eventually(lambda: received(2), 20, "SNS was not told that it is over")
        (listed,) = alarms.listed(ALL_TENANTS)

    opened, resolved = (json.loads(each["Message"]) for each in came)
    assert [opened["type"], resolved["type"]] == ["hifi.alarm.opened", "hifi.alarm.resolved"]
    assert came[0]["Subject"] == "hifi opened: stalled route"
    assert came[0]["MessageAttributes"]["kind"]["Value"] == "stalled"
    assert resolved["data"]["id"] == opened["data"]["id"] == listed.id
    assert resolved["data"]["resolved_ms"] == listed.resolved_ms


def test_the_webhook_is_told_with_a_signature_that_it_can_check(receiver: Far, start: Start) -> None:
    with start(
        alarm_webhook=receiver.url + "/hook?a=b", alarm_webhook_key="secret://operators/alarms"
    ) as alarms:
        alarms.update(stalled("route"))
        eventually(lambda: bool(receiver.told()), 20, "the webhook was told nothing")
    path, headers, body = receiver.requests[0]
    assert path == "/hook?a=b"
    assert headers["content-type"] == "application/json"
    expected = signed([key_of(KEY)], headers["webhook-id"], int(headers["webhook-timestamp"]), body)
    assert headers["webhook-signature"] == expected["webhook-signature"]
    assert json.loads(body)["data"]["text"].startswith("route has read nothing for 120 s")


def test_a_customers_failure_goes_to_that_customer_only(start: Start) -> None:
    with far() as operator, far() as shop, far() as other:
        contacts = (
            Contact(name="a", tenant="shop", webhook=shop.url, secret="secret://shop/alarms"),
            Contact(name="b", tenant="other", webhook=other.url),
        )
        with start(*contacts, alarm_webhook=operator.url) as alarms:
            alarms.update(refused())
            eventually(lambda: bool(shop.told()), 20, "the customer was told nothing")
            alarms.update(stalled("route"))
            eventually(lambda: bool(operator.told()), 20, "the operator was told nothing")
        assert [json.loads(body)["data"]["kind"] for _, _, body in operator.requests] == ["stalled"]
        assert json.loads(shop.requests[0][2])["data"]["subject"] == "hook 404"
        assert "webhook-signature" in shop.requests[0][1]
        assert other.requests == []


def test_a_customers_webhook_inside_the_network_is_not_dialled(
    receiver: Far, start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    contact = Contact(name="a", tenant="shop", webhook=receiver.url)
    with start(contact, allow_loopback=False) as alarms:
        alarms.update(refused())
        eventually(lambda: "alarm notification not accepted" in caplog.text, 20, "nothing was tried")
    assert receiver.requests == []
    assert "refused_address: the webhook leads to a loopback address" in str(
        [getattr(record, "error", "") for record in caplog.records]
    )


def test_another_tenants_secret_signs_nothing(receiver: Far, start: Start) -> None:
    """Documents on the topic may have been checked by another version."""
    contact = Contact(name="a", tenant="other", webhook=receiver.url, secret="secret://shop/alarms")
    shop = Contact(name="b", tenant="shop", webhook=receiver.url + "/shop")
    inputs = Inputs(
        at_ms=wall_clock(),
        cards={},
        destinations=[destination(tenant=tenant, reasons={"404 refused": 3}) for tenant in ("other", "shop")],
    )
    with start(contact, shop) as alarms:
        alarms.update(inputs)
        eventually(lambda: bool(receiver.requests), 20, "the good contact was told nothing")
    assert [path for path, _, _ in receiver.requests] == ["/shop"]


def test_no_redirect_is_followed(receiver: Far, start: Start) -> None:
    with far() as elsewhere:
        receiver.status, receiver.headers = 307, {"Location": elsewhere.url}
        with start(alarm_webhook=receiver.url) as alarms:
            alarms.update(stalled("route"))
            eventually(lambda: len(receiver.requests) > 1, 20, "it was not retried")
        assert elsewhere.requests == []


def test_a_dead_receiver_keeps_nobody_waiting_and_misses_nothing(receiver: Far, start: Start) -> None:
    with far() as hanging:
        hanging.hang.clear()
        contact = Contact(name="a", tenant="shop", webhook=hanging.url)
        with start(contact, alarm_webhook=receiver.url, alarm_send_seconds=1) as alarms:
            alarms.update(refused())
            eventually(lambda: bool(hanging.requests), 20, "the hanging one was not tried")
            alarms.update(stalled("route"))
            alarms.update(stalled())
            eventually(lambda: len(receiver.told()) == 2, 20, "the other one waits")
            hanging.hang.set()
            eventually(
                lambda: "resolved" in [change for change, _ in hanging.told()], 20, "a notice is missing"
            )
        order = [change for change, _ in hanging.told()]
        assert order.index("opened") < order.index("resolved")


def test_a_notice_outlives_the_process_and_is_then_sent_with_the_same_id(
    receiver: Far, start: Start, store: Store
) -> None:
    def stored() -> int:
        return len(list(store.query("notice")))

    receiver.status = 503
    with start(alarm_webhook=receiver.url) as alarms:
        alarms.update(stalled("route"))
        eventually(lambda: bool(receiver.requests), 20, "nothing was tried")
    assert stored() == 1
    receiver.status, before = 204, len(receiver.requests)
    with start(alarm_webhook=receiver.url) as alarms:
        eventually(lambda: alarms.update(stalled("route")) or not stored(), 20, "the notice is still kept")
    assert len(receiver.requests) == before + 1
    assert len({headers["webhook-id"] for _, headers, _ in receiver.requests}) == 1


def test_an_open_alarm_and_a_quiet_window_survive_a_restart(start: Start) -> None:
    with start() as alarms:
        alarms.update(stalled("route"))
        (before,) = alarms.listed(ALL_TENANTS)
        now = wall_clock()
        window = alarms.add_window(
            QuietWindow(from_ms=now, until_ms=now + 60_000, kinds=[AlarmKind.STALLED], reason="deployment")
        )
    with start() as alarms:
        assert alarms.listed(ALL_TENANTS, True) == [before]
        assert alarms.windows() == [window]
        alarms.update(stalled("route", "retry"))
        quiet = {each.subject: each.quiet for each in alarms.listed(ALL_TENANTS, True)}
        assert quiet == {"route": "deployment", "retry": "deployment"}
        assert alarms.open_by_kind()[AlarmKind.STALLED] == 2
        assert alarms.remove_window(window.id)
        assert not alarms.remove_window(window.id)
        alarms.update(stalled())
    with start() as alarms:
        assert alarms.windows() == []
        assert alarms.listed(ALL_TENANTS, True) == []
        assert [each.resolved_ms is None for each in alarms.listed(ALL_TENANTS, False)] == [False, False]
        assert alarms.listed("shop") == []


def test_a_store_that_is_away_keeps_no_alarm_from_being_told(
    receiver: Far, secrets: SecretTable, aws: str
) -> None:
    away = Store("alarms", f"http://127.0.0.1:{free_port()}")
    alarms = Alarms(settings(alarm_webhook=receiver.url), away, Catalogue, secrets, wall_clock)
    try:
        with pytest.raises(StoreError):
            alarms.restore()
        alarms.update(stalled("route"))
        eventually(lambda: bool(receiver.told()), 20, "the operator was told nothing")
        now = wall_clock()
        with pytest.raises(StoreError):
            alarms.add_window(QuietWindow(from_ms=now, until_ms=now + 1_000, reason="deployment"))
        assert alarms.windows() == []
    finally:
        alarms.close()


class HangingStore(Store):
    """Blocks writes until it is released."""

    def __init__(self, table: str, endpoint: str) -> None:
        super().__init__(table, endpoint)
        self.released = threading.Event()

    def put(self, items: Iterable[Item]) -> None:
        self.released.wait(60)
        super().put(items)


def test_a_store_that_hangs_delays_no_look_and_has_the_last_state_afterwards(
    store: Store, secrets: SecretTable, aws: str
) -> None:
    hanging = HangingStore("hanging", aws)
    hanging.ensure()
    first = Alarms(settings(alarm_hold_seconds=0), hanging, Catalogue, secrets, wall_clock)
    began = time.monotonic()
    for nodes in (("route",), ("route", "ingest"), ("ingest",), ("ingest", "retry")):
        first.update(stalled(*nodes))
    assert time.monotonic() - began < 1.0
    hanging.released.set()
    first.close()
    second = Alarms(settings(), hanging, Catalogue, secrets, wall_clock)
    second.restore()
    assert {each.subject for each in second.listed(ALL_TENANTS, True)} == {"ingest", "retry"}
    assert {each.subject for each in second.listed(ALL_TENANTS, False)} == {"route"}
    second.close()


def test_what_could_not_be_stored_is_stored_when_the_store_is_back(
    store: Store, secrets: SecretTable, aws: str
) -> None:
    late = Store("late", aws)  # the table does not exist yet
    first = Alarms(settings(), late, Catalogue, secrets, wall_clock)
    first.update(stalled("route"))
    late.ensure()
    eventually(lambda: bool(list(late.query("alarm"))), 20, "the alarm was not stored")
    first.close()
    second = Alarms(settings(), late, Catalogue, secrets, wall_clock)
    second.restore()
    assert [each.subject for each in second.listed(ALL_TENANTS, True)] == ["route"]
    second.close()

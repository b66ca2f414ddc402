"""Alarms reach their receivers through real sockets: SNS, the operator's webhook, customers' webhooks."""

import json
from typing import Any

import pytest

from pipelines.control.observe.alarms.inputs import Inputs
from shared.contracts.documents import Contact
from shared.contracts.scorecard import ALL_TENANTS
from shared.contracts.signing import key_of, signed
from shared.runtime.clock import wall_clock
from tests.contract.observe.alarms.conftest import KEY, Start, refused, stalled
from tests.contract.observe.alarms.far import Far, far
from tests.harness.local_aws import client
from tests.harness.waiting import eventually
from tests.unit.pipelines.control.observe.alarm_inputs import destination


def test_sns_gets_a_notice_when_an_alarm_opens_and_when_it_is_resolved(aws: str, start: Start) -> None:
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
        eventually(lambda: received(1), 60, "SNS got no notice")
        alarms.update(stalled())
        eventually(lambda: received(2), 60, "SNS was not told that it is over")
        (listed,) = alarms.listed(ALL_TENANTS)

    opened, resolved = (json.loads(each["Message"]) for each in came)
    assert [opened["type"], resolved["type"]] == ["hifi.alarm.opened", "hifi.alarm.resolved"]
    assert came[0]["Subject"] == "hifi opened: stalled route"
    assert came[0]["MessageAttributes"]["kind"]["Value"] == "stalled"
    assert resolved["data"]["id"] == opened["data"]["id"] == listed.id
    assert resolved["data"]["resolved_ms"] == listed.resolved_ms


def test_the_webhook_gets_notices_with_a_valid_signature(receiver: Far, start: Start) -> None:
    with start(
        alarm_webhook=receiver.url + "/hook?a=b", alarm_webhook_key="secret://operators/alarms"
    ) as alarms:
        alarms.update(stalled("route"))
        eventually(lambda: bool(receiver.notices()), 60, "the webhook got no notice")
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
            Contact(name="a", tenant="other", webhook=other.url),
        )
        with start(*contacts, alarm_webhook=operator.url) as alarms:
            alarms.update(refused())
            eventually(lambda: bool(shop.notices()), 60, "the customer got no notice")
            alarms.update(stalled("route"))
            eventually(lambda: bool(operator.notices()), 60, "the operator got no notice")
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
        eventually(lambda: "alarm notification not accepted" in caplog.text, 60, "nothing was tried")
    assert receiver.requests == []
    assert "refused_address: the webhook leads to a loopback address" in str(
        [getattr(record, "error", "") for record in caplog.records]
    )


def test_another_tenants_secret_signs_nothing(receiver: Far, start: Start) -> None:
    """Another version may have checked the documents on the topic."""
    contact = Contact(name="a", tenant="other", webhook=receiver.url, secret="secret://shop/alarms")
    shop = Contact(name="a", tenant="shop", webhook=receiver.url + "/shop")
    inputs = Inputs(
        at_ms=wall_clock(),
        cards={},
        destinations=[destination(tenant=tenant, reasons={"404 refused": 3}) for tenant in ("other", "shop")],
    )
    with start(contact, shop) as alarms:
        alarms.update(inputs)
        eventually(lambda: bool(receiver.requests), 60, "the good contact got no notice")
    assert [path for path, _, _ in receiver.requests] == ["/shop"]


def test_no_redirect_is_followed(receiver: Far, start: Start) -> None:
    with far() as elsewhere:
        receiver.status, receiver.headers = 307, {"Location": elsewhere.url}
        with start(alarm_webhook=receiver.url) as alarms:
            alarms.update(stalled("route"))
            eventually(lambda: len(receiver.requests) > 1, 60, "it was not retried")
        assert elsewhere.requests == []


def test_a_hanging_receiver_delays_no_other_and_gets_every_notice(receiver: Far, start: Start) -> None:
    with far() as hanging:
        hanging.hang.clear()
        contact = Contact(name="a", tenant="shop", webhook=hanging.url)
        with start(contact, alarm_webhook=receiver.url, alarm_send_seconds=1) as alarms:
            alarms.update(refused())
            eventually(lambda: bool(hanging.requests), 60, "the hanging one was not tried")
            alarms.update(stalled("route"))
            alarms.update(stalled())
            # A busy machine may send one again, as its time limit is short too.
            both = {"opened", "resolved"}
            eventually(lambda: {each for each, _ in receiver.notices()} == both, 60, "the other one waits")
            hanging.hang.set()
            eventually(
                lambda: "resolved" in [change for change, _ in hanging.notices()], 60, "a notice is missing"
            )
        order = [change for change, _ in hanging.notices()]
        assert order.index("opened") < order.index("resolved")

"""Service Quotas of an account; initially those of a new one."""

from tests.deploy.aws.json_rpc import JsonService
from tests.deploy.aws.rest import Document, RefusedError

NEW_ACCOUNT = {
    ("ec2", "L-0263D0A3"): 5,
    ("ec2", "L-1216C47A"): 5,
    ("ec2", "L-34B43A08"): 5,
    ("vpc", "L-F678F1CE"): 5,
    ("vpc", "L-FE5A380F"): 5,
}


class Quotas:
    """Quotas, and requests to raise them, which stay open until AWS grants them."""

    def __init__(self) -> None:
        self._values = dict(NEW_ACCOUNT)
        self._requests: list[Document] = []

    def service(self) -> JsonService:
        """The endpoint of Service Quotas."""
        return JsonService("service-quotas", [self], [])

    def value(self, code: str) -> int:
        """The quota with a code."""
        return next(value for (_, its), value in self._values.items() if its == code)

    def grant(self) -> None:
        """Approve the open requests, as AWS does after minutes or days."""
        for each in self._requests:
            if each["Status"] == "PENDING":
                each["Status"] = "APPROVED"
                self._values[each["ServiceCode"], each["QuotaCode"]] = int(each["DesiredValue"])

    def get_service_quota(self, request: Document) -> Document:
        key = request["ServiceCode"], request["QuotaCode"]
        if key not in self._values:
            raise RefusedError("NoSuchResourceException", f"no quota {'/'.join(key)}")
        return {"Quota": {"QuotaCode": key[1], "Value": float(self._values[key])}}

    def request_service_quota_increase(self, request: Document) -> Document:
        asked = {**request, "Id": str(len(self._requests)), "Status": "PENDING"}
        self._requests.append(asked)
        return {"RequestedQuota": asked}

    def list_requested_service_quota_change_history_by_quota(self, request: Document) -> Document:
        wanted = request["QuotaCode"]
        return {"RequestedQuotas": [each for each in self._requests if each["QuotaCode"] == wanted]}

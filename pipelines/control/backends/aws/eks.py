"""How the deployer reaches the Kubernetes API of an EKS cluster: by AWS's own name and token of it."""

import base64
import time
from collections.abc import Callable
from typing import Any, Final

from botocore.signers import RequestSigner

from pipelines.control.backends.aws.kube_api import KubeApi
from pipelines.control.deploy.backend import BackendError

_TOKEN_SECONDS: Final = 60
_USED_SECONDS: Final = 600.0
"""EKS takes a token for fifteen minutes."""


def eks_api(session: Any, eks: Any, cluster: str, region: str) -> KubeApi:
    """The API of a cluster.

    Args:
        session: of boto3; the cluster knows its credentials.
        eks: client.
        cluster: its name.
        region: where it is.

    Raises:
        BackendError: if it is not there, or not made yet.
    """
    found = eks.describe_cluster(name=cluster)["cluster"]
    if "endpoint" not in found or "certificateAuthority" not in found:
        raise BackendError(f"EKS cluster {cluster} is {found['status']}")
    authority = base64.b64decode(found["certificateAuthority"]["data"]).decode()
    return KubeApi(found["endpoint"], authority, token_source(session, cluster, region, time.monotonic))


def token_source(
    session: Any, cluster: str, region: str, monotonic: Callable[[], float]
) -> Callable[[], str]:
    """A function that gives a token of a cluster, a new one before EKS refuses the last."""
    signed_at, token = float("-inf"), ""

    def current() -> str:
        nonlocal signed_at, token
        if monotonic() > signed_at + _USED_SECONDS:
            signed_at, token = monotonic(), eks_token(session, cluster, region)
        return token

    return current


def eks_token(session: Any, cluster: str, region: str) -> str:
    """A signed request that says who asks; EKS sends it to STS to learn that."""
    client = session.client("sts", region_name=region)
    signer = RequestSigner(
        client.meta.service_model.service_id, region, "sts", "v4", session.get_credentials(), session.events
    )
    url = signer.generate_presigned_url(
        {
            "method": "GET",
            "url": f"https://sts.{region}.amazonaws.com/?Action=GetCallerIdentity&Version=2011-06-15",
            "body": {},
            "headers": {"x-k8s-aws-id": cluster},
            "context": {},
        },
        region_name=region,
        expires_in=_TOKEN_SECONDS,
        operation_name="",
    )
    return f"k8s-aws-v1.{base64.urlsafe_b64encode(url.encode()).decode().rstrip('=')}"

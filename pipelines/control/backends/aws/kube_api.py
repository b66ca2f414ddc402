"""The API of one Kubernetes cluster, as far as the deployer needs it."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlencode

from kubernetes.client import ApiClient, Configuration
from kubernetes.client.exceptions import ApiException
from urllib3.exceptions import HTTPError

from pipelines.control.backends.aws.manifest import Manifest
from pipelines.control.deploy.backend import BackendError, RefusedError

MANAGER: Final = "hifi-deployer"
"""The field manager: what it has applied is its own, and what it applies no more goes."""

POD_HOST: Final = "pod.hifi.svc"
"""The name by which pods behind the API's proxy are asked.

The proxy hands the header on: the API's own name is none of the cluster's, and would be refused
(shared.runtime.known_hosts).
"""

_SECONDS: Final = 8.0
_JSON: Final = "application/json"
_TEXT: Final = "text/plain"
_MERGE: Final = "application/merge-patch+json"
_APPLY: Final = "application/apply-patch+yaml"


class ConflictError(BackendError):
    """An object is another one than when it was read."""


class KubeApi:
    """Belongs to one thread. Methods raise BackendError if the API does not answer or refuses."""

    def __init__(self, endpoint: str, authority: str, token: Callable[[], str]) -> None:
        """Reach a cluster.

        Args:
            endpoint: URL of its API.
            authority: certificate of the authority that signed the API's, PEM.
            token: what a request is authorised with.
        """
        # Without retries: the deployer asks again by itself.
        reached = Configuration(host=endpoint, ca_cert_data=authority, retries=False)
        reached.proxy = None  # none of the environment's: the API is in the side's own network
        self._client = ApiClient(reached)
        self._endpoint = endpoint
        self._token = token
        self._kinds = cache(self._discovered)

    def get(self, path: str) -> Manifest | None:
        """An object; None if it is not there."""
        reply = self._asked("GET", path)
        return None if reply is None else dict(json.loads(reply))

    def content(self, path: str) -> bytes:
        """The answer of a pod behind the API's proxy to GET `path`; BackendError if it is not there."""
        reply = self._asked("GET", path, host=POD_HOST)
        if reply is None:
            raise BackendError(f"GET {path}: there is no such thing")
        return reply

    def put(self, path: str, text: str) -> None:
        """Give a text to the path of a pod behind the API's proxy."""
        if self._asked("PUT", path, body=text, kind=_TEXT, host=POD_HOST) is None:
            raise BackendError(f"PUT {path}: there is no such thing")

    def list(self, path: str, selector: str) -> Sequence[Manifest]:
        """The objects with some labels, as they are now."""
        reply = self._asked("GET", path, params={"labelSelector": selector})
        return [] if reply is None else list(json.loads(reply)["items"])

    def apply(self, manifest: Manifest) -> None:
        """Make an object what its manifest says, by server-side apply; fields that others own are kept."""
        params = {"fieldManager": MANAGER, "force": "true"}
        path = self.path(manifest)
        if self._asked("PATCH", path, params=params, body=manifest, kind=_APPLY) is None:
            raise BackendError(f"{path} cannot be applied: its namespace or its kind is not there")

    def merge(self, path: str, change: Mapping[str, Any]) -> None:
        """Change some fields; nothing if the object is not there."""
        self._asked("PATCH", path, params={"fieldManager": MANAGER}, body=change, kind=_MERGE)

    def create(self, path: str, manifest: Manifest) -> None:
        """Make an object; raises ConflictError if it is there already."""
        if self._asked("POST", path, body=manifest) is None:
            raise BackendError(f"{path} is not there")

    def replace(self, path: str, manifest: Manifest) -> None:
        """Write an object over that of the same `resourceVersion`; ConflictError for another one."""
        if self._asked("PUT", path, body=manifest) is None:
            raise ConflictError(f"{path} is gone")

    def delete(self, path: str) -> None:
        """Delete an object and what belongs to it; nothing if it is not there."""
        self._asked("DELETE", path, body={"propagationPolicy": "Background"})

    def path(self, manifest: Manifest) -> str:
        """The API path of a manifest's object."""
        version, name = manifest["apiVersion"], manifest["metadata"]["name"]
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        found = self._kinds(root).get(manifest["kind"])
        if found is None:
            self._kinds.cache_clear()  # it may be installed later
            raise BackendError(f"the cluster knows no {manifest['kind']} of {version}")
        plural, namespaced = found
        space = f"/namespaces/{manifest['metadata']['namespace']}" if namespaced else ""
        return f"{root}{space}/{plural}/{name}"

    def _discovered(self, root: str) -> Mapping[str, tuple[str, bool]]:
        reply = self._asked("GET", root)
        resources = [] if reply is None else json.loads(reply)["resources"]
        return {
            each["kind"]: (each["name"], each["namespaced"]) for each in resources if "/" not in each["name"]
        }

    def _asked(  # noqa: PLR0913  # the parts of one request
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | str | None = None,
        kind: str = _JSON,
        host: str | None = None,
    ) -> bytes | None:
        """The reply; None for 404. `host` is the header of that name, if not the API's."""
        headers = {"Authorization": f"Bearer {self._token()}", "Content-Type": kind}
        headers |= {} if host is None else {"Host": host}
        url = f"{self._endpoint}{path}{'?' if params else ''}{urlencode(params or {})}"
        try:
            reply = self._client.call_api(method, url, headers, body, _request_timeout=_SECONDS)
            status, answer = reply.status, bytes(reply.read())  # type: ignore[no-untyped-call]
        except (ApiException, HTTPError) as error:
            raise BackendError(f"{method} {path}: the Kubernetes API does not answer: {error!r}") from error
        if status == HTTPStatus.NOT_FOUND:
            return None
        if status == HTTPStatus.CONFLICT:
            raise ConflictError(f"{method} {path}: {_message(answer)}")
        if status == HTTPStatus.BAD_REQUEST:
            raise RefusedError(f"{method} {path}: {status} {_message(answer)}")
        if status > HTTPStatus.BAD_REQUEST:
            raise BackendError(f"{method} {path}: {status} {_message(answer)}")
        return answer


def _message(answer: bytes) -> str:
    try:
        return str(json.loads(answer)["message"])
    except (ValueError, KeyError, TypeError):
        return answer.decode(errors="replace")[:200]

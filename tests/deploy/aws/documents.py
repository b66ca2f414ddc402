"""Storage of the local services: documents under keys, in one account and region."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from moto.core.utils import utcnow
from moto.ec2.exceptions import InvalidSubnetIdError
from moto.ec2.models import ec2_backends

from tests.deploy.aws.rest import Document, RefusedError

Key = tuple[str, ...]


@dataclass(frozen=True)
class Place:
    """An account and a region."""

    account: str
    region: str

    def arn(self, service: str, path: str) -> str:
        """The ARN of something of a service in this place."""
        return f"arn:aws:{service}:{self.region}:{self.account}:{path}"

    def subnets(self, names: list[str]) -> list[Any]:
        """moto's subnets with these ids; refuses an unknown one."""
        network = ec2_backends[self.account][self.region]
        try:
            found: list[Any] = network.describe_subnets(subnet_ids=list(dict.fromkeys(names)))
        except InvalidSubnetIdError as error:
            raise RefusedError("InvalidParameterException", str(error)) from error
        return found

    def zones(self, subnets: list[str]) -> set[str]:
        """The availability zones of these subnets."""
        return {each.availability_zone for each in self.subnets(subnets)}


class Documents:
    """Documents of one kind under keys that begin with their owner's name."""

    def __init__(self, kind: str, *, missing: RefusedError, exists: str) -> None:
        self.kind = kind
        self._missing = missing
        self._exists = exists
        self._all: dict[Key, Document] = {}

    def __iter__(self) -> Iterator[Document]:
        return iter(self._all.values())

    def __len__(self) -> int:
        return len(self._all)

    def add(self, key: Key, document: Document) -> Document:
        """Store a document; refuses an existing key."""
        if key in self._all:
            raise RefusedError(self._exists, f"The {self.kind} {'/'.join(key)} exists", 409)
        self._all[key] = document
        return document

    def get(self, key: Key) -> Document:
        """Return the document; refuses an unknown key."""
        if key not in self._all:
            message = self._missing.message or f"The {self.kind} {'/'.join(key)} does not exist"
            raise RefusedError(self._missing.code, message, self._missing.status)
        return self._all[key]

    def remove(self, key: Key) -> Document:
        """Delete and return a document; refuses an unknown key."""
        found = self.get(key)
        del self._all[key]
        return found

    def of(self, *owner: str) -> list[Document]:
        """The documents with keys that begin with `owner`."""
        return [value for key, value in self._all.items() if key[: len(owner)] == owner]

    def remove_of(self, *owner: str) -> None:
        """Delete the documents with keys that begin with `owner`."""
        for key in [each for each in self._all if each[: len(owner)] == owner]:
            del self._all[key]


def stamp() -> float:
    """The present time in EKS's form: seconds since 1970."""
    return utcnow().timestamp()


def iso_stamp() -> str:
    """The present time in MSK's form."""
    return utcnow().isoformat(timespec="milliseconds") + "Z"

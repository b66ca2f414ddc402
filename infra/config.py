"""Settings of an environment: read from `environments/<name>.yaml`, checked before anything is declared."""

from enum import StrEnum
from ipaddress import IPv4Network
from pathlib import Path
from typing import Annotated, Any, Self

import yaml
from pydantic import Field, HttpUrl, StringConstraints, ValidationError, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from infra.aws.arns import Arns
from infra.model import Model, tell
from infra.naming import PROJECT, Names, Side, TwinNames
from infra.sizes import SMALLEST_PREFIX, ClusterSettings, KafkaSettings, NetworkSettings

_FOLDER = Path(__file__).parent
Account = Annotated[str, StringConstraints(pattern=r"^\d{12}$")]


class InvalidSettingsError(ValueError):
    """Settings that nothing can be synthesised from; the message names file, field and mend."""


class EnvironmentName(StrEnum):
    """The environments there are."""

    LOCAL = "local"
    STAGING = "staging"
    PRODUCTION = "production"


class RunSettings(BaseSettings):
    """What one run is told by environment variables named `HIFI_` and the field's name in capitals."""

    model_config = SettingsConfigDict(env_prefix="HIFI_", frozen=True, extra="ignore")

    environment: EnvironmentName = Field(
        default=EnvironmentName.LOCAL, description="The environment to synthesise."
    )
    aws_endpoint: HttpUrl = Field(
        default=HttpUrl("http://127.0.0.1:4566"), description="Endpoint of every AWS service in `local`."
    )
    weights: Path = Field(
        default=_FOLDER / "weights.json", description="File of the sides' shares of the traffic."
    )
    state_folder: Path | None = Field(
        default=None,
        description="Folder of the state. By default .hifi/aws in `local`, else the state bucket. Set "
        "it for the first deployment of foundation, which makes that bucket.",
    )


class Budget(Model):
    """The monthly cost that raises an alarm."""

    monthly_usd: int = Field(
        gt=0, description="US dollars a month, foundation, both sides and edge together."
    )
    subscribers: list[str] = Field(
        min_length=1, description="E-mail addresses told at 80 % spent and 100 % forecast."
    )


class Weights(Model):
    """The sides' shares of the traffic: the one thing a switch changes."""

    blue: int = Field(ge=0, le=255, description="Route 53 weight of blue.")
    green: int = Field(ge=0, le=255, description="Route 53 weight of green.")

    @model_validator(mode="after")
    def _someone_serves(self) -> Self:
        if self.blue + self.green == 0:
            # Route 53 takes two zeros for two equal shares.
            raise ValueError("blue and green are both 0; give the light side 100")
        return self

    def of(self, side: Side) -> int:
        """Weight of a side."""
        return {Side.BLUE: self.blue, Side.GREEN: self.green}[side]


class TwinSettings(Model):
    """One side of an environment."""

    side: Side
    names: TwinNames
    cidr: IPv4Network = Field(description="Address range of its VPC.")


class Environment(Model):
    """Everything the stacks need to know about an environment."""

    name: EnvironmentName
    region: str = Field(pattern=r"^[a-z]{2}(-[a-z]+)+-\d$", description="AWS region.")
    account: Account = Field(description="Twelve digits of the AWS account; Terraform touches no other.")
    domain: str = Field(
        pattern=r"^([a-z0-9-]+\.)+[a-z]{2,}$",
        description="Zone of the records; events go to events.<domain>.",
    )
    repository: str = Field(
        pattern=r"^[\w.-]+/[\w.-]+$", description="GitHub owner/name whose workflows may deploy."
    )
    cidrs: dict[Side, IPv4Network] = Field(description="Address range of each side's VPC, a /16.")
    network: NetworkSettings
    kafka: KafkaSettings
    cluster: ClusterSettings
    budget: Budget
    alarm_subscribers: list[str] = Field(default=[], description="E-mail addresses told of a side's alarms.")
    protected: bool = Field(
        default=False, description="Whether a side's Kafka cluster and load balancer refuse to be destroyed."
    )
    endpoint: str | None = Field(default=None, description="Endpoint of every AWS service; only in `local`.")
    state_folder: Path | None = Field(
        None, description="Folder of Terraform's state; None: the state bucket."
    )

    @model_validator(mode="after")
    def _sides_are_apart(self) -> Self:
        if set(self.cidrs) != set(Side):
            raise ValueError("cidrs: name a range for blue and one for green")
        blue, green = self.cidrs[Side.BLUE], self.cidrs[Side.GREEN]
        if max(blue.prefixlen, green.prefixlen) > SMALLEST_PREFIX:
            raise ValueError(f"cidrs: {blue} or {green} is too small for three zones; give each a /16")
        if blue.overlaps(green):
            raise ValueError(f"cidrs: {blue} and {green} overlap; give each side a range of its own")
        return self

    @property
    def names(self) -> Names:
        """Names of what the environment shares."""
        return Names(environment=self.name, account=self.account)

    @property
    def arns(self) -> Arns:
        """Amazon resource names of its account and region."""
        return Arns(region=self.region, account=self.account)

    @property
    def events_host(self) -> str:
        """Name of the host customers post events to."""
        return f"events.{self.domain}"

    @property
    def is_local(self) -> bool:
        """Whether AWS is an endpoint on this machine, without a Kubernetes API."""
        return self.name is EnvironmentName.LOCAL

    def twin(self, side: Side) -> TwinSettings:
        """One side's own settings."""
        names = TwinNames(environment=self.name, side=side)
        return TwinSettings(side=side, names=names, cidr=self.cidrs[side])

    def tags(self, *, stack: str) -> dict[str, str]:
        """Tags of every resource of a stack."""
        return {"project": PROJECT, "environment": self.name.value, "stack": stack, "managed-by": "cdktf"}


def load_run() -> RunSettings:
    """Read and check this run's environment variables.

    Raises:
        InvalidSettingsError: One of them is wrong.
    """
    try:
        return RunSettings()
    except ValidationError as error:
        lines = [f"HIFI_{str(each['loc'][0]).upper()}: {each['msg']}" for each in error.errors()]
        raise InvalidSettingsError("\n".join(lines)) from error


def load_environment(run: RunSettings, folder: Path = _FOLDER / "environments") -> Environment:
    """Read and check the settings of the run's environment.

    Args:
        run: Which environment, and where its state is.
        folder: Folder of the environments' files.

    Raises:
        InvalidSettingsError: The file is no YAML, or a field of it is missing or wrong.
    """
    path = folder / f"{run.environment}.yaml"
    try:
        return Environment.model_validate(_read(path) | _facts_of(run))
    except ValidationError as error:
        raise InvalidSettingsError(_say(path, Environment, error)) from error


def _read(path: Path) -> dict[str, Any]:
    try:
        facts = yaml.safe_load(path.read_text())
    except (OSError, yaml.YAMLError) as error:
        raise InvalidSettingsError(f"{path}: cannot be read as YAML: {error}") from error
    if not isinstance(facts, dict):
        raise InvalidSettingsError(f"{path}: holds no fields; see infra/config.py for their names")
    return facts


def _facts_of(run: RunSettings) -> dict[str, Any]:
    facts: dict[str, Any] = {"name": run.environment}
    if run.environment is EnvironmentName.LOCAL:
        facts |= {"endpoint": str(run.aws_endpoint).rstrip("/"), "state_folder": Path(".hifi/aws").absolute()}
    if run.state_folder is not None:
        facts["state_folder"] = run.state_folder.absolute()
    return facts


def load_weights(path: Path) -> Weights:
    """Read and check the sides' shares of the traffic.

    Raises:
        InvalidSettingsError: The file is missing or wrong.
    """
    try:
        return Weights.model_validate_json(path.read_bytes())
    except FileNotFoundError as error:
        raise InvalidSettingsError(f'{path}: not found; write {{"blue": 100, "green": 0}}') from error
    except ValidationError as error:
        raise InvalidSettingsError(_say(path, Weights, error)) from error


def _say(path: Path, model: type[Model], error: ValidationError) -> str:
    return "\n".join(f"{path.name}: {line}" for line in tell(model, error))

"""Settings of an environment, read from `environments/<name>.yaml` and validated before use."""

from enum import StrEnum
from ipaddress import IPv4Network
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import Field, HttpUrl, StringConstraints, ValidationError, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from infra.aws.arns import Arns
from infra.exposure import Exposure, check_ranges
from infra.management import ManagementSettings
from infra.model import Model, error_lines
from infra.naming import PROJECT, Names, Side, TwinNames
from infra.sizes import SMALLEST_PREFIX, ClusterSettings, KafkaSettings, NetworkSettings
from shared.contracts.yaml_bounds import YamlError, load_bounded

_FOLDER = Path(__file__).parent
Account = Annotated[str, StringConstraints(pattern=r"^\d{12}$")]


class InvalidSettingsError(ValueError):
    """Invalid settings; the message names the file, the field and the fix."""


class EnvironmentName(StrEnum):
    """The environments that exist."""

    LOCAL = "local"
    STAGING = "staging"
    PRODUCTION = "production"


class RunSettings(BaseSettings):
    """Settings of one run, from environment variables: `HIFI_` and the field's name in capitals."""

    model_config = SettingsConfigDict(env_prefix="HIFI_", frozen=True, extra="ignore")

    environment: EnvironmentName = Field(
        default=EnvironmentName.LOCAL, description="The environment to synthesise."
    )
    aws_endpoint: HttpUrl = Field(
        default=HttpUrl("http://127.0.0.1:4566"), description="Endpoint of all AWS services in `local`."
    )
    state_folder: Path | None = Field(
        default=None,
        description="Folder of Terraform's state. By default .hifi/aws in `local`, else the state bucket. "
        "Set it for the first deployment of foundation, which creates that bucket.",
    )


class Budget(Model):
    """The monthly cost that raises an alarm."""

    monthly_usd: int = Field(gt=0, description="US dollars a month for foundation, both sides and edge.")
    subscribers: list[str] = Field(
        min_length=1, description="E-mail addresses notified at 80 % spent and 100 % forecast."
    )


class TwinSettings(Model):
    """One side of an environment."""

    side: Side
    names: TwinNames
    cidr: IPv4Network = Field(description="Address range of the side's VPC.")


class RepositoryIds(Model):
    """Numbers of a GitHub repository, which stay when its names change."""

    owner: int = Field(gt=0, description="Of the account that owns it.")
    repository: int = Field(gt=0, description="Of the repository itself.")


class Environment(Model):
    """All settings of an environment that the stacks need."""

    name: EnvironmentName
    region: str = Field(pattern=r"^[a-z]{2}(-[a-z]+)+-\d$", description="AWS region.")
    account: Account = Field(description="Twelve digits of the AWS account; Terraform changes no other.")
    domain: str = Field(
        pattern=r"^([a-z0-9-]+\.)+[a-z]{2,}$",
        description="Domain of the hosted zone; events go to events.<domain>, people to console.<domain>, "
        "programs to api.<domain>.",
    )
    repository: str = Field(
        pattern=r"^[\w.-]+/[\w.-]+$", description="GitHub owner/name whose workflows may deploy."
    )
    repository_ids: RepositoryIds | None = Field(
        default=None,
        description="For a repository made, renamed or transferred since June 2026, and any other that opted "
        "into immutable subjects: GitHub then signs `owner@id/name@id` instead of `owner/name`. "
        "`gh api repos/OWNER/NAME --jq '{owner: .owner.id, repository: .id}'` prints them.",
    )
    release_actors: list[int] = Field(
        default=[],
        description="Ids (numbers) of the GitHub accounts whose jobs the sides' runners take: all who merge "
        "or start a release. `gh api users/NAME --jq .id` prints one.",
    )
    cidrs: dict[Side, IPv4Network] = Field(description="Address range of each side's VPC, a /16.")
    exposure: Exposure = Field(
        description="`internet`: the load balancer of events has public addresses; `internal`: private ones, "
        "and a PrivateLink service for customers in AWS."
    )
    management: ManagementSettings
    privatelink_principals: list[str] = Field(
        default=[],
        description="ARNs of customers' AWS accounts that may connect to the PrivateLink service, such as "
        "arn:aws:iam::123456789012:root; each connection is also accepted by hand.",
    )
    existing_service_roles: list[Literal["autoscaling.amazonaws.com"]] = Field(
        default=[],
        description="Services whose service-linked role exists already; `make preflight` names them.",
    )
    network: NetworkSettings
    kafka: KafkaSettings
    cluster: ClusterSettings
    budget: Budget
    alarm_subscribers: list[str] = Field(default=[], description="E-mail addresses that get a side's alarms.")
    protected: bool = Field(
        default=False,
        description="Whether a side's Kafka cluster and load balancers, and foundation's tables, refuse to "
        "be destroyed.",
    )
    endpoint: str | None = Field(default=None, description="Endpoint of all AWS services; only in `local`.")
    state_folder: Path | None = Field(
        None, description="Folder of Terraform's state; None: the state bucket."
    )

    @model_validator(mode="after")
    def _ranges_do_not_overlap(self) -> Self:
        if set(self.cidrs) != set(Side):
            raise ValueError("cidrs: set a range for blue and one for green")
        blue, green = self.cidrs[Side.BLUE], self.cidrs[Side.GREEN]
        if max(blue.prefixlen, green.prefixlen) > SMALLEST_PREFIX:
            raise ValueError(f"cidrs: {blue} or {green} is too small for three zones; use a /16 for each")
        if blue.overlaps(green):
            raise ValueError(f"cidrs: {blue} and {green} overlap; use a separate range for each side")
        return self

    @model_validator(mode="after")
    def _somebody_has_rights_in_kubernetes(self) -> Self:
        # Creating a cluster grants nothing, and a person cannot assume the deploy role.
        if not self.is_local and not self.cluster.administrators:
            raise ValueError(
                "cluster.administrators: is empty; add the IAM role of whoever deploys first, as otherwise "
                "the first Helm release fails as Unauthorized"
            )
        return self

    @model_validator(mode="after")
    def _runners_know_whom_they_serve(self) -> Self:
        # Anybody's pull request may name a runner's label.
        if not self.is_local and not self.release_actors:
            raise ValueError(
                "release_actors: is empty; add the ids of the GitHub accounts that merge or start a release: "
                "the runners take the jobs of no other"
            )
        return self

    @model_validator(mode="after")
    def _clients_match_the_exposure(self) -> Self:
        check_ranges("network.client_ranges", self.exposure, self.network.client_ranges)
        return self

    @property
    def names(self) -> Names:
        """Names of the resources that the environment shares."""
        return Names(environment=self.name, account=self.account)

    @property
    def arns(self) -> Arns:
        """Builder of ARNs in its account and region."""
        return Arns(region=self.region, account=self.account)

    @property
    def boundary_arn(self) -> str:
        """ARN of the permissions boundary of every role of its sides."""
        return self.arns.iam(f"policy/{self.names.boundary}")

    @property
    def events_host(self) -> str:
        """Host name that customers post events to."""
        return f"events.{self.domain}"

    @property
    def api_host(self) -> str:
        """Host name of the management API."""
        return f"api.{self.domain}"

    @property
    def console_host(self) -> str:
        """Host name of the console."""
        return f"console.{self.domain}"

    @property
    def management_hosts(self) -> tuple[str, str]:
        """Host names of the management plane: API and console."""
        return self.api_host, self.console_host

    def side_host(self, side: Side) -> str:
        """Host name of one side's load balancer, whichever side is light."""
        return f"{side}.{self.events_host}"

    @property
    def is_local(self) -> bool:
        """Whether AWS is emulated on this machine, without a Kubernetes API."""
        return self.name is EnvironmentName.LOCAL

    def twin(self, side: Side) -> TwinSettings:
        """One side's own settings."""
        names = TwinNames(environment=self.name, side=side)
        return TwinSettings(side=side, names=names, cidr=self.cidrs[side])

    def tags(self, *, stack: str) -> dict[str, str]:
        """Tags of every resource of a stack."""
        return {"project": PROJECT, "environment": self.name.value, "stack": stack, "managed-by": "cdktf"}


def load_run() -> RunSettings:
    """Read and validate this run's environment variables.

    Raises:
        InvalidSettingsError: A variable is invalid.
    """
    try:
        return RunSettings()
    except ValidationError as error:
        lines = [f"HIFI_{str(each['loc'][0]).upper()}: {each['msg']}" for each in error.errors()]
        raise InvalidSettingsError("\n".join(lines)) from error


def load_environment(run: RunSettings, folder: Path = _FOLDER / "environments") -> Environment:
    """Read and validate the settings of the run's environment.

    Args:
        run: Name of the environment, and where its state is.
        folder: Folder of the environments' files.

    Raises:
        InvalidSettingsError: The file is not YAML, or a field is missing or invalid.
    """
    path = folder / f"{run.environment}.yaml"
    try:
        return Environment.model_validate(_read(path) | _run_fields(run))
    except ValidationError as error:
        raise InvalidSettingsError(_error_text(path, Environment, error)) from error


def _read(path: Path) -> dict[str, Any]:
    try:
        fields = load_bounded(path.read_text())
    except YamlError as error:
        raise InvalidSettingsError(f"{path}, line {error.line}: {error}") from error
    except (OSError, yaml.YAMLError) as error:
        raise InvalidSettingsError(f"{path}: not readable as YAML; fix the file: {error}") from error
    if not isinstance(fields, dict):
        raise InvalidSettingsError(f"{path}: has no fields; add those of Environment in infra/config.py")
    return fields


def _run_fields(run: RunSettings) -> dict[str, Any]:
    fields: dict[str, Any] = {"name": run.environment}
    if run.environment is EnvironmentName.LOCAL:
        fields |= {
            "endpoint": str(run.aws_endpoint).rstrip("/"),
            "state_folder": Path(".hifi/aws").absolute(),
        }
    if run.state_folder is not None:
        fields["state_folder"] = run.state_folder.absolute()
    return fields


def _error_text(path: Path, model: type[Model], error: ValidationError) -> str:
    return "\n".join(f"{path.name}: {line}" for line in error_lines(model, error))

"""The folders of the twins' Spark image, laid out on this machine from the same requirements and POMs.

`spark.Dockerfile` copies them; a test compares the two.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Final

from scripts.local.jars import Say, ensure_cluster, ensure_jars
from scripts.local.pyspark_package import pyspark_folder

_REPOSITORY: Final = Path(__file__).parents[2]
_CONFIGURATION: Final = _REPOSITORY / "infra" / "workloads" / "base" / "spark"
_BESIDE_THE_CONNECTOR: Final = "aws-msk-iam-auth-*.jar"
_DEFAULTS: Final = "spark-defaults.conf"
_RESOURCES: Final = "worker-resources.json"
_IMAGE_CODE: Final = "/opt/hifi/app"
_IMAGE_CONFIGURATION: Final = "/etc/spark"
_IMAGE_JARS: Final = "/opt/hifi/jars"


@dataclass(frozen=True)
class SparkImage:
    """Folders that the image's environment variables name; `root` holds links only, and the configuration."""

    root: Path

    @property
    def home(self) -> Path:
        """SPARK_HOME: PySpark with the jars for S3."""
        return self.root / "spark"

    @property
    def jars(self) -> Path:
        """HIFI_JARS: the Kafka connector with IAM authentication beside it."""
        return self.root / "jars"

    @property
    def configuration(self) -> Path:
        """SPARK_CONF_DIR: the twins' own, with the paths of this machine."""
        return self.root / "conf"

    def environment(self) -> dict[str, str]:
        """The image's variables."""
        return {
            "SPARK_HOME": str(self.home),
            "SPARK_CONF_DIR": str(self.configuration),
            "HIFI_JARS": str(self.jars),
            "PYTHONPATH": str(_REPOSITORY),
        }

    def configure(self, changes: Mapping[str, str]) -> None:
        """Write the twins' configuration with this machine's paths, and with settings that replace theirs."""
        write_configuration(self.configuration, {**twins_settings(self.configuration, self.jars), **changes})


def twins_settings(folder: Path, jars: Path) -> dict[str, str]:
    """The twins' settings of master, workers and drivers, with paths of this machine.

    Args:
        folder: of the configuration.
        jars: folder of the Kafka connector's jars.
    """
    places = ((_IMAGE_CODE, _REPOSITORY), (_IMAGE_CONFIGURATION, folder), (_IMAGE_JARS, jars))
    twins = (_CONFIGURATION / _DEFAULTS).read_text()
    here = reduce(lambda text, place: text.replace(place[0], str(place[1])), places, twins)
    lines = (line.split(maxsplit=1) for line in here.splitlines() if line and not line.startswith("#"))
    return dict(lines)


def write_configuration(folder: Path, settings: Mapping[str, str]) -> None:
    """Make a folder for SPARK_CONF_DIR, for this user only: a setting may be a secret."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    (folder / _RESOURCES).write_text((_CONFIGURATION / _RESOURCES).read_text())
    (folder / _DEFAULTS).write_text("".join(f"{name} {value}\n" for name, value in settings.items()))


def lay_out(root: Path, say: Say) -> SparkImage:
    """Make the folders.

    Args:
        root: an empty folder for them.
        say: gets a line for each slow step.

    Raises:
        JarsError: if Maven is missing or fails.
    """
    image = SparkImage(root)
    cluster = sorted(ensure_cluster(say).glob("*.jar"))
    beside = [jar for jar in cluster if jar.match(_BESIDE_THE_CONNECTOR)]
    _link(image.jars, [*sorted(ensure_jars(say).spark.glob("*.jar")), *beside])
    package = pyspark_folder()
    _link(image.home, [part for part in package.iterdir() if part.name != "jars"])
    _link(
        image.home / "jars", [*(package / "jars").iterdir(), *(jar for jar in cluster if jar not in beside)]
    )
    return image


def _link(folder: Path, targets: list[Path]) -> None:
    folder.mkdir(parents=True)
    for target in targets:
        (folder / target.name).symlink_to(target)

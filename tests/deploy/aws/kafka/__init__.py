"""The part of MSK that moto lacks."""

from tests.deploy.aws.documents import Place
from tests.deploy.aws.kafka.clusters import Clusters
from tests.deploy.aws.kafka.configurations import Configurations
from tests.deploy.aws.rest import RestService


def service(place: Place) -> RestService:
    """MSK of one account and region."""
    configurations = Configurations(place)
    clusters = Clusters(place, configurations)
    return RestService("kafka", [configurations, clusters], [configurations.known, clusters.known])

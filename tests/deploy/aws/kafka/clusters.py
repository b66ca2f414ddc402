"""MSK's provisioned clusters."""

import copy
from uuid import uuid4

from tests.deploy.aws.documents import Documents, Place, iso_stamp
from tests.deploy.aws.kafka.configurations import Configurations
from tests.deploy.aws.rest import Document, RefusedError


class Clusters:
    """Provisioned clusters, ACTIVE at once."""

    def __init__(self, place: Place, configurations: Configurations) -> None:
        self._place = place
        self._configurations = configurations
        missing = RefusedError("NotFoundException", status=404)
        self.known = Documents("cluster", missing=missing, exists="ConflictException")
        self._operations = Documents("operation", missing=missing, exists="ConflictException")

    def create_cluster(self, request: Document) -> Document:
        """The older call: like the newer one, for a provisioned cluster."""
        outer: Document = {name: request.pop(name) for name in ("clusterName", "tags") if name in request}
        return self.create_cluster_v2({**outer, "provisioned": request})

    def create_cluster_v2(self, request: Document) -> Document:
        """Refuses brokers that do not spread evenly over distinct zones, as MSK does."""
        asked = copy.deepcopy(request["provisioned"])
        self._check_brokers(asked)
        arn = self._place.arn("kafka", f"cluster/{request['clusterName']}/{uuid4()}-1")
        document = {
            "clusterArn": arn,
            "clusterName": request["clusterName"],
            "clusterType": "PROVISIONED",
            "creationTime": iso_stamp(),
            "currentVersion": "K1",
            "state": "ACTIVE",
            "tags": request.get("tags", {}),
            "provisioned": {**asked, "currentBrokerSoftwareInfo": self._software(arn, asked)},
        }
        self.known.add((arn,), document)
        return {"clusterArn": arn, "clusterName": request["clusterName"], "state": "CREATING"}

    def describe_cluster(self, request: Document) -> Document:
        return {"clusterInfo": _flat(self.known.get((request["clusterArn"],)))}

    def describe_cluster_v2(self, request: Document) -> Document:
        return {"clusterInfo": self.known.get((request["clusterArn"],))}

    def list_clusters(self, request: Document) -> Document:
        return {"clusterInfoList": [_flat(each) for each in self._named(request)]}

    def list_clusters_v2(self, request: Document) -> Document:
        return {"clusterInfoList": self._named(request)}

    def delete_cluster(self, request: Document) -> Document:
        arn = request["clusterArn"]
        self.known.remove((arn,))
        self._configurations.release(arn)
        return {"clusterArn": arn, "state": "DELETING"}

    def get_bootstrap_brokers(self, request: Document) -> Document:
        """Addresses for IAM; hifi's clusters know no other authentication."""
        cluster = self.known.get((request["clusterArn"],))
        sasl = (cluster["provisioned"].get("clientAuthentication") or {}).get("sasl") or {}
        if not (sasl.get("iam") or {}).get("enabled"):
            raise RefusedError("NotImplemented", "The local MSK has brokers for IAM only", 501)
        count = cluster["provisioned"]["numberOfBrokerNodes"]
        name = cluster["clusterName"]
        brokers = (f"b-{n}.{name}.kafka.amazonaws.com:9098" for n in range(1, count + 1))
        return {"bootstrapBrokerStringSaslIam": ",".join(brokers)}

    def update_broker_storage(self, request: Document) -> Document:
        """Change the volumes' size, as storage autoscaling does without Terraform."""
        cluster = self.known.get((request["clusterArn"],))
        size = request["targetBrokerEBSVolumeInfo"][0]["volumeSizeGB"]
        cluster["provisioned"]["brokerNodeGroupInfo"]["storageInfo"]["ebsStorageInfo"]["volumeSize"] = size
        return self._changed(cluster)

    def update_cluster_configuration(self, request: Document) -> Document:
        cluster = self.known.get((request["clusterArn"],))
        asked = {**cluster["provisioned"], "configurationInfo": request["configurationInfo"]}
        cluster["provisioned"]["currentBrokerSoftwareInfo"] = self._software(cluster["clusterArn"], asked)
        return self._changed(cluster)

    def describe_cluster_operation(self, request: Document) -> Document:
        return {"clusterOperationInfo": self._operations.get((request["clusterOperationArn"],))}

    def describe_cluster_operation_v2(self, request: Document) -> Document:
        return self.describe_cluster_operation(request)

    def list_tags_for_resource(self, request: Document) -> Document:
        return {"tags": self.known.get((request["resourceArn"],))["tags"]}

    def _check_brokers(self, asked: Document) -> None:
        subnets = asked["brokerNodeGroupInfo"]["clientSubnets"]
        if len(self._place.zones(subnets)) != len(subnets):
            raise RefusedError("BadRequestException", "The client subnets must be in different zones")
        if asked["numberOfBrokerNodes"] % len(subnets):
            raise RefusedError("BadRequestException", "The number of brokers must be a multiple of the zones")

    def _software(self, cluster: str, asked: Document) -> Document:
        chosen = asked["configurationInfo"]
        self._configurations.revision(chosen["arn"], chosen["revision"])
        self._configurations.use(cluster, chosen["arn"])
        return {
            "kafkaVersion": asked["kafkaVersion"],
            "configurationArn": chosen["arn"],
            "configurationRevision": chosen["revision"],
        }

    def _named(self, request: Document) -> list[Document]:
        wanted = request.get("clusterNameFilter", "")
        return [each for each in self.known if each["clusterName"].startswith(wanted)]

    def _changed(self, cluster: Document) -> Document:
        cluster["currentVersion"] = f"K{int(cluster['currentVersion'][1:]) + 1}"
        arn = self._place.arn("kafka", f"cluster-operation/{cluster['clusterName']}/{uuid4()}")
        done = {"operationArn": arn, "operationState": "UPDATE_COMPLETE", "clusterArn": cluster["clusterArn"]}
        self._operations.add((arn,), done)
        return {"clusterArn": cluster["clusterArn"], "clusterOperationArn": arn}


def _flat(cluster: Document) -> Document:
    return {
        **{key: value for key, value in cluster.items() if key != "provisioned"},
        **cluster["provisioned"],
    }

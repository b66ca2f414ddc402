"""Values of the charts that collect a side's logs and metrics."""

from infra.components.identity.addon_identities import ALERTMANAGER, FLUENT_BIT
from infra.components.kubernetes.chart_values import PLACE, REPLICAS, Values, resources, spread

DASHBOARD_LABEL = "grafana_dashboard"
"""Label of the ConfigMaps that Grafana loads, in any namespace."""

RETENTION = "15d"
_VOLUME_GIB = 20
_KEPT = "17GB"
"""Below the volume's size: Prometheus deletes the oldest before it is full."""

_STORAGE_CLASS = "monitoring"
# EKS runs these itself, and nothing in the cluster reaches them.
_NOT_OURS = ("kubeControllerManager", "kubeScheduler", "kubeEtcd", "kubeProxy")
_STREAM = "$kubernetes['pod_name'].$kubernetes['container_name']"


def fluent_bit(*, region: str, log_group: str) -> Values:
    """Values of `aws-for-fluent-bit`: every pod's output to one group, a stream for each container.

    Args:
        region: AWS region.
        log_group: The group, which exists.
    """
    return {
        "serviceAccount": {"create": True, "name": FLUENT_BIT},
        # Also the nodes with a taint: spot nodes are those that die with their logs.
        "tolerations": [{"operator": "Exists"}],
        "priorityClassName": "system-node-critical",
        "resources": resources("50m", "128Mi"),
        "input": {"memBufLimit": "32MB", "refreshInterval": 5},
        # Our lines are JSON objects: CloudWatch Logs Insights then finds their fields under `data`.
        "filter": {"mergeLog": "On", "mergeLogKey": "data", "keepLog": "Off"},
        "cloudWatchLogs": {
            "enabled": True,
            "region": region,
            "logGroupName": log_group,
            # Empty: versions of the chart before 0.2 have one that leads to groups without key and retention.
            "logGroupTemplate": "",
            "logStreamPrefix": "no-pod-",
            "logStreamTemplate": _STREAM,
            "autoCreateGroup": False,
        },
    }


def prometheus_stack(*, cluster_name: str, region: str, topic_arn: str) -> Values:
    """Values of `kube-prometheus-stack`: Prometheus, Alertmanager, Grafana and their exporters.

    What they scrape, alert on and show of hifi comes with the workloads (`infra/dashboards`).

    Args:
        cluster_name: Name of the EKS cluster, with which notices begin.
        region: AWS region.
        topic_arn: SNS topic that Alertmanager notifies.
    """
    return {
        # Helm itself never upgrades the custom resource definitions of a chart.
        "crds": {"upgradeJob": {"enabled": True, "nodeSelector": PLACE}},
        "extraManifests": [_storage_class()],
        "defaultRules": {
            "rules": dict.fromkeys(
                ("etcd", "kubeControllerManager", "kubeProxy", "kubeSchedulerAlerting"), False
            )
        },
        **{part: {"enabled": False} for part in _NOT_OURS},
        "prometheusOperator": {
            "nodeSelector": PLACE,
            "resources": resources("50m", "128Mi"),
            "admissionWebhooks": {"patch": {"nodeSelector": PLACE}},
        },
        "prometheus": {"prometheusSpec": _prometheus()},
        "alertmanager": _alertmanager(cluster_name, region, topic_arn),
        "grafana": _grafana(),
        "kube-state-metrics": {"nodeSelector": PLACE, "resources": resources("20m", "128Mi")},
        "prometheus-node-exporter": {"resources": resources("20m", "64Mi")},
    }


def _storage_class() -> Values:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": _STORAGE_CLASS},
        "provisioner": "ebs.csi.aws.com",
        "parameters": {"type": "gp3", "encrypted": "true"},
        "reclaimPolicy": "Delete",
        # Creates the volume in the zone of the pod that uses it.
        "volumeBindingMode": "WaitForFirstConsumer",
    }


def _prometheus() -> Values:
    # Its claim is kept when its StatefulSet is deleted, as by default: the operator deletes and makes that
    # anew for some changes. The run book deletes the claim before a side is destroyed.
    claim = {
        "storageClassName": _STORAGE_CLASS,
        "accessModes": ["ReadWriteOncePod"],
        "resources": {"requests": {"storage": f"{_VOLUME_GIB}Gi"}},
    }
    # Otherwise it takes only what has the labels of this Helm release.
    kinds = ("podMonitor", "serviceMonitor", "rule", "probe", "scrapeConfig")
    return {
        "nodeSelector": PLACE,
        "resources": resources("250m", "1536Mi"),
        "retention": RETENTION,
        "retentionSize": _KEPT,
        "scrapeInterval": "15s",
        "storageSpec": {"volumeClaimTemplate": {"spec": claim}},
        **{f"{kind}SelectorNilUsesHelmValues": False for kind in kinds},
    }


def _alertmanager(cluster_name: str, region: str, topic_arn: str) -> Values:
    alert = "{{ .Status }}: {{ .Annotations.summary }} {{ .Annotations.description }}"
    # One person gets the mails of all sides and environments; the name is that of the `kubectl` context.
    message = f"{cluster_name}\n" + "{{ range .Alerts }}" + alert + '{{ "\\n" }}{{ end }}'
    sns = {
        "topic_arn": topic_arn,
        "sigv4": {"region": region},
        "send_resolved": True,
        "subject": f"{cluster_name} {{{{ .Status }}}}: {{{{ .CommonLabels.alertname }}}}",
        "message": message,
    }
    return {
        "serviceAccount": {"create": True, "name": ALERTMANAGER},
        "config": {
            "route": {
                "receiver": "side",
                "group_by": ["alertname"],
                "group_wait": "30s",
                "group_interval": "5m",
                "repeat_interval": "12h",
                # These two of the chart always fire, or only silence others.
                "routes": [{"receiver": "null", "matchers": ['alertname=~"Watchdog|InfoInhibitor"']}],
            },
            "receivers": [{"name": "null"}, {"name": "side", "sns_configs": [sns]}],
        },
        "alertmanagerSpec": {
            "replicas": REPLICAS,
            "nodeSelector": PLACE,
            "resources": resources("20m", "64Mi"),
            "topologySpreadConstraints": spread("app.kubernetes.io/name", "alertmanager"),
        },
        "podDisruptionBudget": {"enabled": True, "minAvailable": 1},
    }


def _grafana() -> Values:
    return {
        # Empty: the chart makes a random one and keeps it in the secret `kube-prometheus-stack-grafana`.
        "adminPassword": "",
        "nodeSelector": PLACE,
        "resources": resources("50m", "256Mi"),
        "defaultDashboardsTimezone": "utc",
        "sidecar": {
            "dashboards": {
                "enabled": True,
                "label": DASHBOARD_LABEL,
                "labelValue": "1",
                "searchNamespace": "ALL",
            },
            "resources": resources("10m", "128Mi"),
        },
    }

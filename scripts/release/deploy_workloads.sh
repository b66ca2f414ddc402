#!/usr/bin/env bash
# Put this release into a side's cluster and wait until it runs: deploy_workloads.sh green
# PREFIX, SERVICE_IMAGE and SPARK_IMAGE come from the environment.
set -euo pipefail
cd "$(dirname "$0")/../.."
side=${1:?name a side: blue or green}
cluster=${PREFIX:?}-$side

kafka=$(aws kafka list-clusters-v2 --cluster-name-filter "$cluster" --output text \
    --query "ClusterInfoList[?ClusterName=='$cluster' && State=='ACTIVE'].ClusterArn")
[ -n "$kafka" ] || { echo "no MSK cluster $cluster that is ACTIVE: wait for its maintenance to end" >&2; exit 1; }
bootstrap=$(aws kafka get-bootstrap-brokers --cluster-arn "$kafka" --query BootstrapBrokerStringSaslIam --output text)
# The brokers have the ids of their zones, pods the names, which mean other zones in each account.
zone_ids=$(aws ec2 describe-availability-zones --output text \
    --query "AvailabilityZones[?ZoneType=='availability-zone'].[ZoneName,ZoneId]" | tr '\t' '=' | paste -sd,)
.venv/bin/python -m infra.workloads.values "$side" --bootstrap "$bootstrap" --zone-ids "$zone_ids" \
    --service-image "${SERVICE_IMAGE:?}" --spark-image "${SPARK_IMAGE:?}"

aws eks update-kubeconfig --name "$cluster" --alias "$cluster" >&2
kube() { kubectl --context "$cluster" --namespace hifi "$@"; }

kube apply -f infra/workloads/cluster/namespace.yaml -f infra/workloads/cluster/storage.yaml
# Made once a cluster; nobody but Spark's processes ever reads it.
if ! kube get secret spark-auth > /dev/null 2>&1; then
    openssl rand -hex 32 | tr -d '\n' | kube create secret generic spark-auth --from-file=secret=/dev/stdin
fi
# A Job's pod cannot be changed.
kube delete job topics --ignore-not-found --wait
# What a former release had and this one has not goes. Not the ConfigMaps: pods of a former release may still name theirs.
prunable=()
for kind in apps/v1/{Deployment,StatefulSet} batch/v1/Job core/v1/{Service,ServiceAccount} policy/v1/PodDisruptionBudget \
    networking.k8s.io/v1/NetworkPolicy keda.sh/v1alpha1/{ScaledObject,TriggerAuthentication} \
    elbv2.k8s.aws/v1beta1/TargetGroupBinding monitoring.coreos.com/v1/{PodMonitor,PrometheusRule}; do
    prunable+=(--prune-allowlist="$kind")
done
kube apply -k "infra/workloads/overlays/$side" --prune --selector app.kubernetes.io/part-of=hifi "${prunable[@]}"
kube wait --for=condition=complete job/topics --timeout=10m
# A dark side is parked at zero.
kube annotate scaledobject --all autoscaling.keda.sh/paused-replicas-
for workload in $(kube get statefulset,deployment --output name); do
    kube rollout status "$workload" --timeout=20m
done

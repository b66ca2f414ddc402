#!/usr/bin/env bash
# Put what a side's cluster has before its first version into it, the deployer above all, or bring that up to date:
# prepare_cluster.sh green. Both sides' stacks are deployed. PREFIX, DOMAIN and SERVICE_IMAGE come from the environment.
set -euo pipefail
cd "$(dirname "$0")/../.."
side=${1:?name a side: blue or green}
cluster=${PREFIX:?}-$side
zone=$(aws route53 list-hosted-zones-by-name --dns-name "${DOMAIN:?}" --max-items 1 --output text \
    --query "HostedZones[?Name=='$DOMAIN.'].Id")
[ -n "$zone" ] || { echo "there is no hosted zone $DOMAIN: deploy foundation first" >&2; exit 1; }
values=(--zone "${zone##*/}" --service-image "${SERVICE_IMAGE:?}")
for each in blue green; do
    found=$(scripts/release/kafka_of.sh "$each")
    values+=("--$each-kafka" "${found% *}" "--$each-bootstrap" "${found#* }")
done
.venv/bin/python -m infra.workloads.cluster_values "${values[@]}"

aws eks update-kubeconfig --name "$cluster" --alias "$cluster" >&2
kube() { kubectl --context "$cluster" --namespace hifi "$@"; }
kube apply -k infra/workloads/cluster
# Made once. Only Spark's processes read it; the deployer cannot.
if ! kube get secret spark-auth > /dev/null 2>&1; then
    openssl rand -hex 32 | tr -d '\n' | kube create secret generic spark-auth --from-file=secret=/dev/stdin
fi
kube rollout status deployment/deploy --timeout=5m

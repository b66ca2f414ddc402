#!/usr/bin/env bash
# Make a dark side ready for changes of its stack: quiesce.sh green. Traffic is kept from it, and its drivers stop: their
# disruption budgets of 0 would hold every update of a node up. Nothing is lost: what it has not sent waits in its topics.
# deploy_workloads.sh starts them again. A side with traffic is refused. PREFIX from the environment.
set -euo pipefail
cd "$(dirname "$0")/../.."
side=${1:?name a side: blue or green}
cluster=${PREFIX:?}-$side
.venv/bin/python -m scripts.release.traffic close "$side" >&2  # fails for a light side
if ! aws eks list-clusters --output text --query clusters | tr '\t' '\n' | grep -qx "$cluster"; then
    echo "there is no cluster $cluster yet: nothing to quiesce" >&2
    exit 0
fi
aws eks update-kubeconfig --name "$cluster" --alias "$cluster" >&2
kube() { kubectl --context "$cluster" --namespace hifi "$@"; }
drivers="app.kubernetes.io/name in (ingest,route,transmit,audit)"
[ -n "$(kube get deployment --selector "$drivers" --output name)" ] || exit 0
kube scale deployment --replicas=0 --selector "$drivers"
kube wait --for=delete pod --selector "$drivers" --timeout=5m

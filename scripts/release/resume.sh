#!/usr/bin/env bash
# Start the drivers of a side again after a deployment that failed: resume.sh green. What the side took is sent in any case.
# PREFIX from the environment.
set -euo pipefail
side=${1:?name a side: blue or green}
cluster=${PREFIX:?}-$side
aws eks update-kubeconfig --name "$cluster" --alias "$cluster" >&2
kubectl --context "$cluster" --namespace hifi scale deployment --replicas=1 \
    --selector "app.kubernetes.io/name in (ingest,route,transmit,audit)"

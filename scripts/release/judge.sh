#!/usr/bin/env bash
# Whether a side keeps the promise with the traffic that it has now: judge.sh green. PREFIX from the environment;
# MINUTES is how many minutes with enough events it must keep it for, JUDGE_SECONDS how long to wait for these.
set -euo pipefail
cd "$(dirname "$0")/../.."
side=${1:?name a side: blue or green}
cluster=${PREFIX:?}-$side
aws eks update-kubeconfig --name "$cluster" --alias "$cluster" >&2
since=$(($(date +%s) / 60 + 1))
deadline=$((SECONDS + ${JUDGE_SECONDS:-3000}))
while :; do
    minutes="http://127.0.0.1:8080/v1/minutes?from=$since&to=$(($(date +%s) / 60))"
    status=0
    # From inside its pod: no network policy lets the API server's proxy in.
    verdict=$(kubectl --context "$cluster" --namespace hifi exec deployment/observe -- python -c \
        'import sys, urllib.request as r; print(r.urlopen(sys.argv[1]).read().decode())' "$minutes" |
        .venv/bin/python -m scripts.release.verdict --minutes "${MINUTES:-10}") || status=$?
    echo "$side: $verdict" >&2
    case $status in
        0) echo "$side: $verdict"; exit 0 ;;
        2) echo "$side: $verdict"; exit 1 ;;
    esac
    if [ $SECONDS -ge $deadline ]; then echo "$side: not judged in time: $verdict"; exit 1; fi
    sleep 30
done

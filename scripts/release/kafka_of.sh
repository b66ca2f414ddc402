#!/usr/bin/env bash
# ARN and brokers of a side's MSK cluster, on one line: kafka_of.sh green. PREFIX from the environment.
set -euo pipefail
cluster=${PREFIX:?}-${1:?name a side: blue or green}
arn=$(aws kafka list-clusters-v2 --cluster-name-filter "$cluster" --output text \
    --query "ClusterInfoList[?ClusterName=='$cluster' && State=='ACTIVE'].ClusterArn")
[ -n "$arn" ] || { echo "no MSK cluster $cluster that is ACTIVE: wait for its maintenance to end" >&2; exit 1; }
echo "$arn $(aws kafka get-bootstrap-brokers --cluster-arn "$arn" --query BootstrapBrokerStringSaslIam --output text)"

#!/usr/bin/env bash
# ARN and brokers of a side's MSK cluster, on one line: kafka_of.sh green. PREFIX from the environment.
# All brokers in their order, as a version's manifests name them: get-bootstrap-brokers answers some of them, in any order.
set -euo pipefail
cluster=${PREFIX:?}-${1:?name a side: blue or green}
arn=$(aws kafka list-clusters-v2 --cluster-name-filter "$cluster" --output text \
    --query "ClusterInfoList[?ClusterName=='$cluster' && State=='ACTIVE'].ClusterArn")
[ -n "$arn" ] || { echo "no MSK cluster $cluster that is ACTIVE: wait for its maintenance to end" >&2; exit 1; }
hosts=$(aws kafka list-nodes --cluster-arn "$arn" --output text --query "NodeInfoList[].BrokerNodeInfo.Endpoints[]")
brokers=$(tr -s '[:space:]' '\n' <<< "$hosts" | sed '/^$/d; s/$/:9098/' | sort --version-sort | paste -sd,)
[ -n "$brokers" ] || { echo "MSK cluster $cluster has no brokers" >&2; exit 1; }
echo "$arn $brokers"

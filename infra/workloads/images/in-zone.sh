#!/bin/sh
# Runs a command with the id of the node's availability zone in HIFI_CLIENT_RACK, by which Kafka consumers read from
# the replica in it. Pods know the zone's name (HIFI_ZONE), which means another zone in each AWS account; MSK's brokers
# have its id. HIFI_ZONE_IDS maps them: eu-west-1a=euw1-az3,... A pod that does not know its zone reads from leaders.
set -eu
for pair in $(printf %s "${HIFI_ZONE_IDS:-}" | tr , ' '); do
    if [ "${pair%%=*}" = "${HIFI_ZONE:-}" ]; then
        export HIFI_CLIENT_RACK="${pair#*=}"
    fi
done
exec "$@"

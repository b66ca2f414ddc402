#!/bin/sh
# A worker's preStop hook: decommissions it. After SIGPWR Spark schedules no new tasks here, and each executor ends
# with its last task; that of a real-time query ends with the batch. Then Kubernetes sends SIGTERM, and SIGKILL
# after the grace period.
set -eu
worker=${1:-1}
seconds=${2:-75}
executor=${3:-[C]oarseGrainedExecutorBackend} # brackets, so that grep does not match its own command line

executors() { grep -lsa "$executor" /proc/[0-9]*/cmdline || true; }

kill -s PWR "$worker"
while [ "$seconds" -gt 0 ] && [ -n "$(executors)" ]; do
    seconds=$((seconds - 1))
    sleep 1
done

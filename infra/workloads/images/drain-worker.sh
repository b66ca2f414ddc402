#!/bin/sh
# A worker's preStop hook: gives it back in good order. SIGPWR tells Spark to put no new tasks here; an executor
# ends by itself when its last task has, for a real-time query at the end of the batch.
# Then Kubernetes sends SIGTERM, and after the grace period SIGKILL.
set -eu
worker=${1:-1}
seconds=${2:-75}

# In brackets, so that grep does not find itself.
executors() { grep -lsa '[C]oarseGrainedExecutorBackend' /proc/[0-9]*/cmdline || true; }

kill -s PWR "$worker"
while [ "$seconds" -gt 0 ] && [ -n "$(executors)" ]; do
    seconds=$((seconds - 1))
    sleep 1
done

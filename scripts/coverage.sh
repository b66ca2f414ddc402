#!/usr/bin/env bash
# Run tests under coverage.py, the processes that they start included, and report lines by package and by module.
# Without arguments: every test that needs no cloud, browser or whole side. Fails only if the tests do.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ $# = 0 ]; then set -- tests/unit tests/contract tests/spark; fi
rm -rf .coverage
mkdir -p .coverage/spark
# Spark ends its Python workers by signals that leave no time to save: its daemon is replaced by one that saves before.
echo "spark.python.daemon.module scripts.coverage_daemon" > .coverage/spark/spark-defaults.conf
export SPARK_CONF_DIR=$PWD/.coverage/spark
status=0
.venv/bin/python -m coverage run -m pytest "$@" || status=$?
.venv/bin/python -m coverage combine --quiet
.venv/bin/python -m coverage html --quiet
.venv/bin/python -m coverage json --quiet -o .coverage/coverage.json
.venv/bin/python -m scripts.coverage_table .coverage/coverage.json | tee .coverage/packages.txt
.venv/bin/python -m coverage report > .coverage/modules.txt
echo "by module: .coverage/modules.txt; line by line: .coverage/html/index.html"
exit "$status"

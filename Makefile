# `make` lists the targets.
.DEFAULT_GOAL := help
.PHONY: help setup demo demo-twins up down doctor test test-unit test-contract test-spark test-synth test-deploy test-bench test-integration test-console test-truth test-twins test-kubernetes proof proof-rest synth plan preflight outdated localstack deploy-local policy-tools cdktn-tools deploy-tools kube-tools browser quick stream-chain stream-planes stream-parts stream-side lint format types imports coverage bench dashboard lock clean

SHELL := /bin/bash
BIN := .venv/bin
SECONDS ?= 60
EVENTS ?=
SIDE ?= blue
ARGS ?=
# Of the stacks: ENVIRONMENT=staging, else the HIFI_ENVIRONMENT of the shell.
IN_ENVIRONMENT = HIFI_ENVIRONMENT=$(or $(ENVIRONMENT),$(HIFI_ENVIRONMENT),local)
# Not of the user's shell: tests and demo bring their own. And what Python compiled is kept: a hundred processes
# start in a run of the tests, and each would compile some thousand modules again.
unexport HIFI_ALLOW_LOOPBACK HIFI_BOOTSTRAP HIFI_CHECKPOINTS HIFI_JARS PYTHONPATH PYTHONDONTWRITEBYTECODE
# The bindings of CDKTF run on any node from 20 on; their warning about its age would fill the screen.
export JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION := 20

# A heading `##@ NAME` holds for the targets below it; one that occurs again adds to its group.
help: ## List the targets
	@awk -F ':.*## ' '/^##@ / {group = substr($$0, 5); if (!(group in lines)) order[++n] = group} \
	    /^[a-z%-]+:.*## / && group {lines[group] = lines[group] sprintf("  \033[1m%-17s\033[0m %s\n", $$1, $$2)} \
	    END {for (i = 1; i <= n; i++) printf "%s\n%s", order[i], lines[order[i]]}' $(MAKEFILE_LIST)

##@ Start

setup: ## Install what is missing: JDK, Maven, .venv, jars (idempotent)
	@scripts/setup.sh

##@ Run
demo: setup ## Run the whole chain with live figures: SECONDS=60, EVENTS=file.ndjson
	@$(BIN)/hifi demo --seconds $(SECONDS) $(if $(EVENTS),--events $(EVENTS)) $(ARGS)

demo-twins: setup ## Two sides on this machine: a release, a patch of brokers and a switch, with live figures
	@$(BIN)/python -m scripts.demo.twins $(ARGS)

up: setup ## Start the local side, until Ctrl-C
	@$(BIN)/hifi up $(ARGS)

down: setup ## Stop the local side
	@$(BIN)/hifi down $(ARGS)

doctor: setup ## Report what is missing or wrong
	@$(BIN)/hifi doctor $(ARGS)

##@ Check
# Three streams side by side, because each one mostly waits for its processes; then by itself what has limits of
# time, a whole side above all: see docs/testing.md.
STREAMS := stream-chain stream-planes stream-parts
test: setup ## Check everything in 15 to 25 minutes: lint, types, imports, and a test of every capability
	@rm -rf .test-reports
	@failed=0; \
	$(MAKE) --no-print-directory -j3 $(STREAMS) || failed=1; \
	$(MAKE) --no-print-directory stream-side || failed=1; \
	[ $$failed = 0 ] || { $(BIN)/python -m tests.failures quick $(STREAMS) stream-side; exit 1; }

proof: setup policy-tools cdktn-tools deploy-tools browser ## Run all other tests, for hours: full sizes, kills, stacks, bench
	@$(BIN)/python -m tests.proof

proof-rest: setup policy-tools cdktn-tools deploy-tools browser ## Run what `make proof` has not proven of this very commit
	@$(BIN)/python -m tests.proof --rest

proof-%: setup policy-tools cdktn-tools deploy-tools browser ## Run one part of `make proof`, such as proof-truth
	@$(BIN)/python -m tests.proof $*

quick: lint types imports ## Style, types, imports and the unit tests
	$(PYTEST) tests/unit

# Each run leaves a report by the name of its target, for `tests.failures`.
PYTEST = $(BIN)/python -m pytest --tier test --junitxml=.test-reports/$@.xml $(ARGS)
# Contract tests of the management and the control plane, and of the commands that are their clients.
PLANES := $(addprefix tests/contract/,deploy documents dynamodb management observe provision) \
    $(filter-out %_delivery.py %_load.py,$(wildcard $(addprefix tests/contract/test_,cli*.py commands_*.py)))
# These judge destinations by how long they take.
TIMED := $(wildcard tests/contract/test_transmit_isolation*.py)
# Each line of output is whole, so that the streams can be told apart.
stream-chain: setup
	@set -o pipefail; $(PYTEST) tests/contract tests/spark $(patsubst %,--ignore=%,$(PLANES) $(TIMED)) 2>&1 | sed -u 's/^/chain  | /'
stream-planes: setup
	@set -o pipefail; $(PYTEST) $(PLANES) 2>&1 | sed -u 's/^/planes | /'
stream-parts: quick browser
	@set -o pipefail; $(PYTEST) tests/synth tests/deploy tests/console tests/truth 2>&1 | sed -u 's/^/parts  | /'
stream-side: setup
	@set -o pipefail; $(PYTEST) $(TIMED) tests/integration 2>&1 | sed -u 's/^/side   | /'

test-synth: policy-tools cdktn-tools
test-deploy: deploy-tools
test-kubernetes: kube-tools
test-console: browser
test-unit test-contract test-spark test-synth test-deploy test-bench test-integration test-console test-truth test-twins test-kubernetes: test-%: setup
	$(BIN)/python -m pytest tests/$* $(ARGS)

test-unit: ## Pure functions (each test-KIND runs both tiers of its kind)
test-contract: ## One service or module against real sockets and brokers
test-spark: ## DataFrame functions and streaming queries in Spark
test-synth: ## Terraform and Kubernetes manifests of the stacks
test-deploy: ## The stacks applied to local endpoints
test-kubernetes: ## The deployer's backend for AWS on real control planes, which are built once
test-bench: ## The bench
test-integration: ## A whole side as processes
test-console: ## The console in a real Chromium
test-truth: ## The meter against known losses
test-twins: ## Two whole sides behind their edge, for minutes

lint: setup ## Check style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: setup ## Fix style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: setup ## Check types
	$(BIN)/mypy

imports: setup ## Check the import rules between packages
	$(BIN)/lint-imports

# Reported, not gated. ARGS chooses: make coverage ARGS="tests/unit tests/truth".
coverage: setup ## Run tests under coverage.py; text and HTML by package in .coverage
	@scripts/coverage.sh $(ARGS)

policy-tools: setup ## Install the policy check of the stacks (checkov) in its own .venv-policy
	@scripts/setup.sh policy-tools

cdktn-tools: setup ## Install the fork of CDKTF, for the proof of the way out, in its own .venv-cdktn
	@scripts/setup.sh cdktn-tools

deploy-tools: setup ## Install cdktf in node_modules and LocalStack in its own .venv-localstack
	@scripts/setup.sh deploy-tools

kube-tools: ## Build a Kubernetes control plane for the tests, in ~/.cache/hifi/kube (12.5 minutes, once)
	@scripts/kube_tools.sh

browser: setup ## Install a Chromium for the console's tests, if there is none
	@scripts/setup.sh browser

##@ AWS
synth: setup ## Write the Terraform of every stack to cdktf.out: ENVIRONMENT=local, staging or production
	@$(IN_ENVIRONMENT) $(BIN)/python -m infra.main
	@echo cdktf.out/stacks/*

localstack: setup ## Run a local AWS until Ctrl-C: WAY=docker, host or moto
	@$(BIN)/python -m scripts.aws.localstack $(WAY)

preflight: setup ## Check what an AWS account lacks for ENVIRONMENT=staging; FILE=1 requests the quotas
	@$(IN_ENVIRONMENT) $(BIN)/python -m infra.preflight $(if $(FILE),--file)

outdated: setup ## List pinned add-ons, images and charts that are behind, for ENVIRONMENT=staging
	@$(IN_ENVIRONMENT) $(BIN)/python -m infra.outdated

deploy-local: setup ## Deploy every stack to a local AWS: that of `make localstack`, or a new one
	@$(BIN)/python -m scripts.aws.deploy_local

plan: setup ## Show what Terraform would change: SIDE=blue, green, foundation or edge; ENVIRONMENT=staging
	@$(IN_ENVIRONMENT) $(BIN)/python -m scripts.aws.plan $(SIDE) $(ARGS)

##@ Run
bench: setup ## Measure the chain and its rating on this machine
	@$(BIN)/hifi bench $(ARGS)

##@ Maintain
dashboard: setup ## Write infra/dashboards: Grafana's dashboard and Prometheus' scrape configurations
	@$(BIN)/python -m scripts.dashboard

lock: setup ## Pin the newest versions that pyproject.toml allows, with their hashes
	@scripts/lock.sh

clean: ## Remove .venv and caches; the side's data stays
	rm -rf .venv .venv-policy .venv-cdktn .venv-localstack cdktf.out node_modules .mypy_cache .ruff_cache .pytest_cache .coverage .hypothesis .import_linter_cache .test-reports

# `make` lists the targets.
.DEFAULT_GOAL := help
BESIDE := beside-synth beside-deploy beside-bench beside-services beside-contract beside-spark beside-faults beside-flows beside-console beside-truth
.PHONY: help setup demo up down doctor test test-unit test-contract test-spark test-synth test-deploy test-bench test-integration test-console test-truth synth plan localstack deploy-local policy-tools deploy-tools browser quick $(BESIDE) lint format types imports coverage bench dashboard lock clean

SHELL := /bin/bash
BIN := .venv/bin
SECONDS ?= 60
EVENTS ?=
SIDE ?= blue
ARGS ?=
# Not of the user's shell: tests and demo bring their own.
unexport HIFI_ALLOW_LOOPBACK HIFI_BOOTSTRAP HIFI_CHECKPOINTS HIFI_JARS PYTHONPATH
# The bindings of CDKTF run on any node from 20 on; their warning about its age would fill the screen.
export JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION := 20

# A heading `##@ NAME` holds for the targets below it; one that occurs again adds to its group.
help: ## List the targets
	@awk -F ':.*## ' '/^##@ / {group = substr($$0, 5); if (!(group in lines)) order[++n] = group} \
	    /^[a-z-]+:.*## / && group {lines[group] = lines[group] sprintf("  \033[1m%-17s\033[0m %s\n", $$1, $$2)} \
	    END {for (i = 1; i <= n; i++) printf "%s\n%s", order[i], lines[order[i]]}' $(MAKEFILE_LIST)

##@ Start

setup: ## Install what is missing: JDK, Maven, .venv, jars (idempotent)
	@scripts/setup.sh

##@ Run
demo: setup ## Run the whole chain with live figures: SECONDS=60, EVENTS=file.ndjson
	@$(BIN)/hifi demo --seconds $(SECONDS) $(if $(EVENTS),--events $(EVENTS)) $(ARGS)

up: setup ## Start the local side here, until Ctrl-C
	@$(BIN)/hifi up $(ARGS)

down: setup ## Stop the local side
	@$(BIN)/hifi down $(ARGS)

doctor: setup ## Report what is missing or wrong
	@$(BIN)/hifi doctor $(ARGS)

##@ Check
test: setup ## Everything: lint, types, imports, all tests
	@$(MAKE) --no-print-directory -j3 quick beside-synth beside-bench
	@$(MAKE) --no-print-directory -j3 beside-services beside-spark beside-deploy beside-contract
	@$(MAKE) --no-print-directory -j2 beside-faults beside-flows beside-truth beside-console

quick: lint types imports ## Style, types, imports and the unit tests
	$(BIN)/python -m pytest tests/unit $(ARGS)

# Of those side by side some mostly wait and others mostly compute; each line of output is whole. What is named
# last begins when the first has ended.
beside-services: PART := $(filter-out %__pycache__/,$(wildcard tests/contract/*/))
beside-contract: PART := $(wildcard tests/contract/test_*.py)
beside-faults: PART := tests/integration -m fault
beside-flows: PART := tests/integration -m "not fault"
$(BESIDE): beside-%:
	@set -o pipefail; $(BIN)/python -m pytest $(or $(PART),tests/$*) $(ARGS) 2>&1 | sed -u ''

beside-synth test-synth: policy-tools
beside-deploy test-deploy: deploy-tools
beside-console test-console: browser
test-unit test-contract test-spark test-synth test-deploy test-bench test-integration test-console test-truth: test-%: setup
	$(BIN)/python -m pytest tests/$* $(ARGS)

test-unit: ## Only the pure functions' tests
test-contract: ## Only the tests of one service or of brokers
test-spark: ## Only the DataFrame functions' tests
test-synth: ## Only the tests of what AWS and Kubernetes will be asked for
test-deploy: ## Only the tests that apply the stacks to local endpoints
test-bench: ## Only the test of the bench
test-integration: ## Only the tests of the whole side
test-console: ## Only the tests of the console in a real Chromium
test-truth: ## Only the tests of the meter against known losses

lint: setup ## Check style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: setup ## Fix style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: setup ## Check types
	$(BIN)/mypy

imports: setup ## Check who may import whom
	$(BIN)/lint-imports

# Reported, not gated. ARGS chooses: make coverage ARGS="tests/unit tests/truth".
coverage: setup ## Run tests under coverage.py; text and HTML by package in .coverage
	@scripts/coverage.sh $(ARGS)

policy-tools: setup ## Install the policy check of the stacks (checkov) in its own .venv-policy
	@scripts/setup.sh policy-tools

deploy-tools: setup ## Install cdktf in node_modules and LocalStack in its own .venv-localstack
	@scripts/setup.sh deploy-tools

browser: setup ## Install a Chromium for the console's tests, if there is none
	@scripts/setup.sh browser

##@ AWS
synth: setup ## Write the Terraform of every stack to cdktf.out: HIFI_ENVIRONMENT=local, staging or production
	@$(BIN)/python -m infra.main
	@echo cdktf.out/stacks/*

localstack: setup ## Serve an AWS here, until Ctrl-C: WAY=docker, host or moto
	@$(BIN)/python -m scripts.aws.localstack $(WAY)

deploy-local: setup ## Deploy every stack to an AWS here: that of `make localstack`, or one of its own
	@$(BIN)/python -m scripts.aws.deploy_local

plan: setup ## Show what Terraform would change: SIDE=blue, green, foundation or edge
	@$(BIN)/python -m scripts.aws.plan $(SIDE) $(ARGS)

##@ Run
bench: setup ## Measure the chain and its rating on this machine
	@$(BIN)/hifi bench $(ARGS)

##@ Maintain
dashboard: setup ## Write infra/dashboards: Grafana's dashboard and Prometheus' scrape configurations
	@$(BIN)/python -m scripts.dashboard

lock: setup ## Pin the newest versions that pyproject.toml allows, with their hashes
	@scripts/lock.sh

clean: ## Remove .venv and caches; the side's data stays
	rm -rf .venv .venv-policy .venv-localstack cdktf.out node_modules .mypy_cache .ruff_cache .pytest_cache .coverage .hypothesis .import_linter_cache

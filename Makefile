# `make` lists the targets.
.DEFAULT_GOAL := help
.PHONY: help setup demo up down doctor test test-unit test-contract test-spark test-bench test-integration quick beside-bench beside-contract beside-spark lint format types imports bench lock clean

SHELL := /bin/bash
BIN := .venv/bin
SECONDS ?= 60
EVENTS ?=
ARGS ?=
# Not of the user's shell: tests and demo bring their own.
unexport HIFI_ALLOW_LOOPBACK HIFI_BOOTSTRAP HIFI_CHECKPOINTS HIFI_JARS PYTHONPATH

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  \033[1m%-17s\033[0m %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## Install what is missing: JDK, Maven, .venv, jars (idempotent)
	@scripts/setup.sh

demo: setup ## Run the whole chain with live figures: SECONDS=60, EVENTS=file.ndjson
	@$(BIN)/hifi demo --seconds $(SECONDS) $(if $(EVENTS),--events $(EVENTS)) $(ARGS)

up: setup ## Start the local side here, until Ctrl-C
	@$(BIN)/hifi up $(ARGS)

down: setup ## Stop the local side
	@$(BIN)/hifi down $(ARGS)

doctor: setup ## Say what is missing or wrong
	@$(BIN)/hifi doctor $(ARGS)

test: setup ## Everything: lint, types, imports, all tests
	@$(MAKE) --no-print-directory -j2 quick beside-bench
	@$(MAKE) --no-print-directory -j2 beside-contract beside-spark
	$(BIN)/python -m pytest tests/integration $(ARGS)

quick: lint types imports ## Style, types, imports and the unit tests
	$(BIN)/python -m pytest tests/unit $(ARGS)

# Of two side by side one mostly waits and the other mostly computes; each line of output is whole.
beside-bench beside-contract beside-spark: beside-%:
	@set -o pipefail; $(BIN)/python -m pytest tests/$* $(ARGS) 2>&1 | sed -u ''

test-unit test-contract test-spark test-bench test-integration: test-%: setup
	$(BIN)/python -m pytest tests/$* $(ARGS)

test-unit: ## Only the pure functions' tests
test-contract: ## Only the tests of one service or of brokers
test-spark: ## Only the DataFrame functions' tests
test-bench: ## Only the test of the bench
test-integration: ## Only the tests of the whole side

lint: setup ## Check style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: setup ## Mend style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: setup ## Check types
	$(BIN)/mypy

imports: setup ## Check who may import whom
	$(BIN)/lint-imports

bench: setup ## Measure the chain and its rating on this machine
	@$(BIN)/hifi bench $(ARGS)

lock: setup ## Pin the newest versions that pyproject.toml allows, with their hashes
	@scripts/lock.sh

clean: ## Remove .venv and caches; the side's data stays
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

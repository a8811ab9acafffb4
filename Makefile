# Centavo. `make optimize` runs the main job, `make test` the tests; each does its own set-up. `make help` lists the rest.
.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

ENV ?= local
export ENV
VENV := .venv
BIN := $(CURDIR)/$(VENV)/bin
export PATH := $(BIN):$(PATH)
export PYTHONUNBUFFERED := 1

ENV_DIR := terraform/environments/$(ENV)
ifeq ($(wildcard $(ENV_DIR)/centavo.yml),)
$(error There is no environment $(ENV): $(ENV_DIR)/centavo.yml is missing. Take one of: $(notdir $(patsubst %/,%,$(wildcard terraform/environments/*/))))
endif
include $(ENV_DIR)/env.mk
include requirements/setup.mk

CENTAVO := $(BIN)/centavo --env $(ENV)
# make optimize DEADLINE=2h30m is centavo optimize --deadline=2h30m, and so on
option = $(if $($1),--$(2)='$($1)')
OPTIMIZE_OPTIONS = $(strip $(call option,POLICY,policy) $(call option,INTERVAL,interval) $(call option,VIA,via) \
    $(call option,DEADLINE,deadline) $(call option,BUDGET,budget) \
    $(call option,METRICS,metrics) $(call option,LOG_FORMAT,log-format))

##@ The main job
.PHONY: optimize apply train
optimize: setup cloud-up ## Train, and move to the cheapest flavor meanwhile (POLICY= INTERVAL= VIA= DEADLINE= BUDGET= METRICS= LOG_FORMAT=)
	@$(CENTAVO) optimize $(OPTIMIZE_OPTIONS)
apply: setup cloud-up ## Make the network, the head and one group per flavor
	@$(CENTAVO) apply $(if $(PLAN),--plan $(PLAN))
train: setup cloud-up ## Configure the nodes and start the training; nothing moves
	@$(CENTAVO) train

##@ Looking
.PHONY: plan status facts explain watch report picture
plan: setup cloud-up ## Show what would change and what it costs (ACKNOWLEDGE=, names of dangers that are meant)
	@$(CENTAVO) plan $(addprefix --acknowledge=,$(ACKNOWLEDGE)) --markdown plan.md || [ $$? -eq 2 ]
status: setup ## Fleet, training and costs at a glance
	@$(CENTAVO) status
facts: setup ## What every rank last said of itself
	@$(CENTAVO) facts
explain: setup ## Why the last decision came out as it did, or another (DECISION= RUN=)
	@$(CENTAVO) explain $(DECISION) $(call option,RUN,run)
watch: setup ## The live view of a run that goes on elsewhere
	@$(CENTAVO) watch
report: setup ## Open the last run's report, or print its path
	@$(CENTAVO) report
picture: setup ## The README's picture, drawn from the last run
	@$(CENTAVO) picture

##@ Ending
.PHONY: destroy clean
destroy: setup ## Remove everything that apply made
	@$(CENTAVO) destroy
	@$(MAKE) --no-print-directory cloud-down
clean: ## Remove what was generated here, the virtual environment too; running clouds are ended first
	@if [ -x $(BIN)/python ]; then $(MAKE) --no-print-directory cloud-down; fi
	rm -rf $(VENV) .venv-* .centavo runs dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find terraform -name .terraform -prune -exec rm -rf {} +
	find . -name __pycache__ -prune -exec rm -rf {} +

##@ Developing
.PHONY: setup test test-long test-fast lint format
test: setup ## Linters, unit, contract and Terraform tests, and the whole job end to end
	@$(MAKE) --no-print-directory lint
	@terraform/test
	@$(BIN)/python -m pytest tests -m "not long"
test-long: setup ## Further whole jobs on localcloud, minutes each: killed and resumed, proposed and merged, Terraform alone
	@$(BIN)/python -m pytest tests -m long
test-fast: setup ## The tests that start no process
	@$(BIN)/python -m pytest tests -m "not slow and not e2e" -q
lint: setup $(LINT_VENV)/.ready ## ruff, mypy, import-linter, terraform fmt, ansible-lint
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/lint-imports --no-cache
	@terraform fmt -check -recursive terraform
	@cd ansible && PATH=$(CURDIR)/$(LINT_VENV)/bin:$$PATH ansible-lint --offline --profile production
format: setup ## Lay out all sources as the linters want them
	@$(BIN)/ruff check --fix . ; $(BIN)/ruff format . ; terraform fmt -recursive terraform

##@ Measuring (results under runs/bench)
.PHONY: bench-trainer bench-bleu bench-elastic bench-balance bench-policies bench-decide bench-report
bench-trainer: setup ## Training throughput beside PyTorch's
	@$(BIN)/python tests/bench/bench_trainer.py $(OPTIONS)
bench-bleu: setup ## BLEU on Multi30k (MULTI30K_DIR=); goes on where it was stopped
	@$(BIN)/python tests/bench/bench_bleu.py $(OPTIONS)
bench-elastic: setup ## A training while every node is replaced under it
	@$(BIN)/python tests/bench/bench_elastic.py $(OPTIONS)
bench-balance: setup ## Unequal nodes, with and without rebalancing
	@$(BIN)/python tests/bench/bench_balance.py $(OPTIONS)
bench-policies: setup ## Policies over a thousand simulated trainings (CENTAVO_PRICES_CSV=)
	@$(BIN)/python tests/bench/bench_policies.py $(OPTIONS)
bench-decide: setup ## One decision on 50 flavors and 1,000 nodes
	@$(BIN)/python tests/bench/bench_decide.py $(OPTIONS)
bench-report: setup ## The report of a very large run
	@$(BIN)/python -m tests.bench.bench_report $(OPTIONS)

.PHONY: help
help: ## This list
	@awk 'BEGIN {FS = ":.*## "} /^##@ / {printf "\n%s\n", substr($$0, 5)} /^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))
	@printf '\nENV=local is the default; the environments are the folders of terraform/environments.\n'

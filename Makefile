# Centavo. `make optimize` runs the main job and `make test` the tests. Both do the set-up first. `make help` lists the rest.
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
# `make optimize DEADLINE=2h30m` runs `centavo optimize --deadline=2h30m`. The other options work the same way.
option = $(if $($1),--$(2)='$($1)')
OPTIMIZE_OPTIONS = $(strip $(call option,POLICY,policy) $(call option,INTERVAL,interval) $(call option,VIA,via) \
    $(call option,DEADLINE,deadline) $(call option,BUDGET,budget) $(call option,CONFIDENCE,confidence) \
    $(if $(DETACH),--detach) $(call option,METRICS,metrics) $(call option,LOG_FORMAT,log-format))

##@ The main job
.PHONY: optimize apply train prepare
optimize: setup cloud-up ## Train, and move to the cheapest fleet while training (POLICY= INTERVAL= VIA= DEADLINE= BUDGET= CONFIDENCE= DETACH=1 METRICS= LOG_FORMAT=)
	@$(CENTAVO) optimize $(OPTIMIZE_OPTIONS)
apply: setup cloud-up ## Make the network, the head and one group per flavor (PLAN=, with its ACKNOWLEDGE=: a plan that was reviewed here)
	@$(CENTAVO) apply $(if $(PLAN),--plan $(PLAN) $(addprefix --acknowledge=,$(ACKNOWLEDGE)))
train: setup cloud-up ## Configure the nodes and start the training, without moves
	@$(CENTAVO) train

prepare: setup ## Prepare a corpus of raw text for training (CORPUS=corpus.yml; OPTIONS=--help tells its keys)
	@$(BIN)/python -m trainer prepare $(call option,CORPUS,config) $(OPTIONS)

##@ Looking
.PHONY: plan status facts explain watch logs report picture
plan: setup cloud-up ## Show what would change and what it costs (ACKNOWLEDGE=, dangers that are intended)
	@$(CENTAVO) plan $(addprefix --acknowledge=,$(ACKNOWLEDGE)) --markdown plan.md || [ $$? -eq 2 ]
status: setup ## Show fleet, training and costs
	@$(CENTAVO) status
facts: setup ## Show the last iteration fact of every rank
	@$(CENTAVO) facts
explain: setup ## Explain the last decision, or another one (DECISION= RUN=)
	@$(CENTAVO) explain $(DECISION) $(call option,RUN,run)
watch: setup ## Show the live view of a run that another process controls
	@$(CENTAVO) watch
logs: setup ## Show what ranks, launcher and controller write (FOLLOW=1 RANK= STREAM= GREP= SINCE=10m RUN=)
	@$(CENTAVO) logs $(if $(FOLLOW),--follow) $(call option,RANK,rank) $(call option,STREAM,stream) $(call option,GREP,grep) \
	    $(call option,SINCE,since) $(call option,RUN,run)
report: setup ## Open the report of the last run, or print its path
	@$(CENTAVO) report
picture: setup ## Draw the README's picture from the last run
	@$(CENTAVO) picture

##@ Ending
.PHONY: stop destroy clean
stop: setup ## End the training now with a checkpoint, and give its workers back, wherever its controller runs
	@$(CENTAVO) stop
destroy: setup ## Remove everything that `make apply` made (DELETE_DATA=1: the objects in its bucket too)
	@$(CENTAVO) destroy $(if $(DELETE_DATA),--delete-data)
	@$(MAKE) --no-print-directory cloud-down
clean: ## Stop the local cloud, and remove all generated files and the virtual environment
	@if [ -x $(BIN)/python ]; then $(MAKE) --no-print-directory cloud-down; fi
	rm -rf $(VENV) .venv-* .centavo runs dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find terraform -name .terraform -prune -exec rm -rf {} +
	find . -name __pycache__ -prune -exec rm -rf {} +

##@ Developing
# How many tests run at a time: twice a small machine's two cores, since long tests mostly wait. Each file's tests stay
# together, in order; tests/conftest.py says what else does.
WORKERS ?= 4
SIDE_BY_SIDE := -n $(WORKERS) --dist loadgroup --no-loadscope-reorder
.PHONY: setup wheelhouse image test test-beside test-python test-terraform test-long test-fast faults storm nights rehearse mutants lint house format
wheelhouse: ## Build the packages of AWS's nodes now, which a run does otherwise (OPTIONS="--python 3.11 --glibc 2.36")
	@$(or $(PYTHON),python3) requirements/wheelhouse.py build $(OPTIONS) >/dev/null && echo "The wheelhouse is in the cache."
image: ## Make a machine image of a node with Packer, from the same roles (OPTIONS="-var region=eu-west-1")
	@PATH="$(BIN):$$PATH" terraform/image/build $(OPTIONS)
test: setup ## Run the linters, the tests, and the whole job end to end
	@$(MAKE) --no-print-directory -j3 test-beside test-python
test-beside: setup
	@$(MAKE) --no-print-directory --output-sync=target lint test-terraform
test-python: setup ## Run the tests and the whole job end to end, without linters
	@MAKEFLAGS= $(BIN)/python -m pytest tests -m "not long" $(SIDE_BY_SIDE)
test-terraform: setup ## Test all Terraform code, offline
	@terraform/test
test-long: setup ## Run further whole jobs on localcloud, minutes each: killed and resumed, proposed and merged, Terraform alone
	@$(BIN)/python -m pytest tests -m long
test-fast: setup ## Run the tests that start no process
	@$(BIN)/python -m pytest tests -m "not slow and not e2e" -q
faults: setup ## Put a thousand faults into runs and check that each heals (FAULT= or SEED= repeats one, PAIRS=)
	@$(BIN)/python -m tests.faults $(call option,FAULT,fault) $(call option,SEED,seed) $(call option,PAIRS,pairs)
storm: setup ## Kill the controller of a whole job twenty times, and let three nodes fail meanwhile (SEED= repeats one, KEEP=)
	@$(BIN)/python -m tests.faults.storm $(call option,SEED,seed) $(call option,KEEP,keep)
nights: setup ## Play 200 nights in which controller, head, bucket, clocks and the reaper fail (OPTIONS=--seed=9 tells one), or REAL=10 on localcloud
	@$(BIN)/python -m tests.nights $(call option,REAL,real) $(OPTIONS)
rehearse: setup ## Rehearse ENV=aws on machines that boot here, as root: plan, apply, train, move, lose a node, destroy (OPTIONS=--keep)
	@$(BIN)/python -m tests.rehearse $(OPTIONS)
mutants: setup ## Change the controller's code in small ways, and show what no test notices (ROOMS= OPTIONS="--again --minutes 5")
	@OMP_NUM_THREADS=1 $(BIN)/python -m tests.mutants $(ROOMS) $(OPTIONS)
lint: setup $(LINT_VENV)/.ready ## Run ruff, mypy, import-linter, terraform fmt and ansible-lint
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/lint-imports --no-cache
	@terraform fmt -check -recursive terraform
	@cd ansible && PATH=$(CURDIR)/$(LINT_VENV)/bin:$$PATH ansible-lint --offline --profile production
house: setup ## Draw docs/house.svg: the rooms, and which imports which
	@$(BIN)/python docs/draw_house.py
format: setup ## Format all sources
	@$(BIN)/ruff check --fix . ; $(BIN)/ruff format . ; terraform fmt -recursive terraform

##@ Measuring (results under runs/bench)
.PHONY: bench-trainer bench-bleu bench-elastic bench-balance bench-replicas bench-policies bench-decide bench-report bench-journal bench-look bench-data bench-deadlines bench-detached bench-configure
bench-trainer: setup ## Measure training throughput beside PyTorch's
	@$(BIN)/python tests/bench/bench_trainer.py $(OPTIONS)
bench-bleu: setup ## Measure BLEU on Multi30k (MULTI30K_DIR=); continues where it was stopped
	@$(BIN)/python tests/bench/bench_bleu.py $(OPTIONS)
bench-elastic: setup ## Measure a training while every node is replaced
	@$(BIN)/python tests/bench/bench_elastic.py $(OPTIONS)
bench-balance: setup ## Measure steps on unequal nodes, with and without rebalancing
	@$(BIN)/python tests/bench/bench_balance.py $(OPTIONS)
bench-replicas: setup ## Measure what comparing the replicas costs
	@$(BIN)/python tests/bench/bench_replicas.py $(OPTIONS)
bench-policies: setup ## Compare policies in families of simulated trainings (CENTAVO_PRICES_CSV=)
	@$(BIN)/python tests/bench/bench_policies.py $(OPTIONS)
bench-deadlines: setup ## Compare policies for spot under deadlines on real traces (CENTAVO_SPOT_TRACES=)
	@$(BIN)/python tests/bench/bench_deadlines.py $(OPTIONS)
bench-decide: setup ## Time one decision on 50 flavors and 1,000 nodes
	@$(BIN)/python tests/bench/bench_decide.py $(OPTIONS)
bench-report: setup ## Time the report of a very large run
	@$(BIN)/python -m tests.bench.bench_report $(OPTIONS)
bench-journal: setup ## Measure the journal of 10,000 passes of 1,000 nodes
	@$(BIN)/python -m tests.bench.bench_journal $(OPTIONS)
bench-detached: setup ## Measure what handing a run to the head costs its training, beside a watched run
	@$(BIN)/python -m tests.bench.bench_detached $(OPTIONS)
bench-configure: setup ## Measure configuring 1, 5 and 50 fresh nodes
	@$(BIN)/python -m tests.bench.bench_configure $(OPTIONS)
bench-data: setup ## Measure preparing and reading a corpus of 50,000 and of 500,000 pairs (OPTIONS="--pairs 5000000 --folder FOLDER": goes on where it broke off)
	@$(BIN)/python -m tests.bench.bench_data $(OPTIONS)
bench-look: setup ## Time a look at 200 and at 1,000 nodes, with their reports on the head and without
	@$(BIN)/python -m tests.bench.bench_look $(OPTIONS)

.PHONY: help
help: ## Show this list
	@awk 'BEGIN {FS = ":.*## "} /^##@ / {printf "\n%s\n", substr($$0, 5)} /^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))
	@printf '\nENV=local is the default; the environments are the folders of terraform/environments.\n'

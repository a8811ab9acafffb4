# The cloud of this environment runs on this machine: it is started before a job, and stopped by `make destroy`.
.PHONY: cloud-up cloud-down
cloud-up: setup
	@$(BIN)/python -m localcloud up --config $(ENV_DIR)/localcloud.yml
cloud-down:
	@$(BIN)/python -m localcloud down --config $(ENV_DIR)/localcloud.yml

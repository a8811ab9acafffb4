# What this environment needs before and after: its cloud runs on this machine.
.PHONY: cloud-up cloud-down
cloud-up: setup
	@$(BIN)/python -m localcloud up --config $(ENV_DIR)/localcloud.yml
cloud-down:
	@$(BIN)/python -m localcloud down --config $(ENV_DIR)/localcloud.yml

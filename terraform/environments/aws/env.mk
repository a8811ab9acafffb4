# Other environments start and stop a cloud here. AWS always runs, so both targets do nothing.
.PHONY: cloud-up cloud-down
cloud-up cloud-down: ;

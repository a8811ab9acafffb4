# What this environment needs before and after: AWS is there already.
.PHONY: cloud-up cloud-down
cloud-up cloud-down: ;

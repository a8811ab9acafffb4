"""Layer B: faults against real Terraform, Ansible, SSH and localcloud, with a stub in the trainer's place."""

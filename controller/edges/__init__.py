"""The only modules that speak to the outside: Terraform, Ansible, AWS, SSH. They take and give plain, typed data."""

"""Answers of moto 5.1 that make Terraform's AWS provider (5.100) fail or plan changes forever, made like AWS's."""

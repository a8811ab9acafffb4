# The bucket for the state of environments/aws: versioned, encrypted with a key of your own, open to TLS alone.
# Apply it once, from here, with an administrator's credentials; its own small state stays on your machine.
terraform {
  required_version = ">= 1.10.0, < 2.0.0"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "5.100.0"
    }
  }
}

provider "aws" {
  region = var.region
}

module "key" {
  source = "../../modules/key"

  name   = "centavo-state"
  region = var.region
}

module "bucket" {
  source = "../../modules/storage"

  name            = "centavo-state"
  kms_key_arn     = module.key.arn
  noncurrent_days = 365
}

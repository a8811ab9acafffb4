# This example makes the bucket for the state of environments/aws. The bucket is versioned, encrypted with a KMS key of your own,
# and refuses requests without TLS. Apply it once, in this folder, with the credentials of an administrator. The state of this example
# itself stays on your machine: keep it.
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

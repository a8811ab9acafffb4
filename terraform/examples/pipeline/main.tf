# This example makes the roles of the pipeline for environments/aws. Apply it once, in this folder, with the credentials of an
# administrator, after examples/state-bucket. The state of this example itself stays on your machine: keep it.
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

data "aws_kms_alias" "state" {
  name = "alias/centavo-state"
}

module "pipeline" {
  source = "../../modules/pipeline"

  cluster    = "centavo"
  region     = var.region
  repository = var.repository

  state = {
    bucket_arn  = "arn:aws:s3:::${var.state_bucket}"
    key         = "centavo/aws/terraform.tfstate"
    kms_key_arn = data.aws_kms_alias.state.target_key_arn
  }
}

terraform {
  required_version = ">= 1.10.0, < 2.0.0"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "5.100.0"
    }
  }

  # backend.hcl names the bucket and its region (see backend.hcl.example). terraform/init passes that file to Terraform.
  backend "s3" {
    key          = "centavo/aws/terraform.tfstate" # as in local.state_key
    encrypt      = true
    use_lockfile = true
  }
}

provider "aws" {
  region      = "us-east-1"
  max_retries = var.max_retries

  default_tags {
    tags = local.tags
  }

  # The controller writes these tags while a run goes on.
  ignore_tags {
    keys = ["centavo:run", "centavo:rank"]
  }
}

locals {
  # A controller on the head uses the same state. So the head's role may read and write it.
  state_bucket = try(regex("(?m)^\\s*bucket\\s*=\\s*\"([^\"]+)\"", file("${path.module}/backend.hcl"))[0], null)
  state_key    = "centavo/aws/terraform.tfstate"

  # These tags show what the cluster costs, once you activate them and centavo:cluster as cost allocation tags in the billing console.
  tags = {
    Project    = "centavo"
    CostCenter = "training"
  }
}

module "centavo" {
  source = "../.."

  cluster  = yamldecode(file("${path.module}/centavo.yml")).cluster
  capacity = var.capacity

  flavors        = var.flavors
  head           = var.head
  ssh_public_key = var.ssh_public_key

  vpc_cidr           = "10.20.0.0/16"
  availability_zones = ["us-east-1a", "us-east-1b", "us-east-1c"]
  training_zone      = "us-east-1a"
  nat_gateways       = 1
  placement_group    = true

  image      = var.image
  login_user = "admin"

  controller_on_head = { state_bucket = local.state_bucket, state_key = local.state_bucket == null ? null : local.state_key }

  alarm_email     = var.alarm_email
  fact_path       = "/etc/ansible/facts.d"
  system_packages = ["libgomp1", "libquadmath0"] # MXNet needs these libraries; all else comes from the wheelhouse

  tags = local.tags
}

# This example has a spot flavor and an on-demand flavor in three zones. One address range may open SSH to the head.
terraform {
  required_version = ">= 1.9.0, < 2.0.0"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "5.100.0"
    }
  }
}

provider "aws" {
  region = "us-west-2"
}

module "centavo" {
  source = "../.."

  cluster = "spot-example"
  flavors = {
    "c5.2xlarge" = { max_nodes = 16, market = "spot" }
    "t3.large"   = { max_nodes = 4, cpu_credits = "standard" }
  }
  capacity = { "c5.2xlarge" = 8, "t3.large" = 0 }

  head               = { instance_type = "t3.small", ssh_from = ["203.0.113.0/24"] }
  ssh_public_key     = var.ssh_public_key
  availability_zones = ["us-west-2a", "us-west-2b", "us-west-2c"]
  nat_gateways       = 3

  image = {
    owner = "099720109477"
    name  = "ubuntu/images/hvm-ssd/ubuntu-jammy-22.04-amd64-server-20251015"
  }
  login_user = "ubuntu"

  tags = { CostCenter = "research" }
}

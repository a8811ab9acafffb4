# This is the smallest use of the root module: two flavors in one zone. Keys of AWS encrypt the bucket and the logs.
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
  region = "eu-west-1"
}

module "centavo" {
  source = "../.."

  cluster = "two-flavors"
  flavors = {
    "c5.large"  = { max_nodes = 4 }
    "c5.xlarge" = { max_nodes = 4 }
  }
  capacity = { "c5.large" = 2 }

  ssh_public_key     = var.ssh_public_key
  availability_zones = ["eu-west-1a"]
  training_zone      = "eu-west-1a"
  customer_key       = false

  image = {
    owner = "099720109477"
    name  = "ubuntu/images/hvm-ssd/ubuntu-jammy-22.04-amd64-server-20251015"
  }
  login_user = "ubuntu"
}

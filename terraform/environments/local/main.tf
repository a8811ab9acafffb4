terraform {
  required_version = ">= 1.10.0, < 2.0.0"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "5.100.0"
    }
  }

  backend "local" {}
}

# The API's address and the credentials come from the process environment (AWS_ENDPOINT_URL and others).
provider "aws" {
  region            = "us-east-1"
  max_retries       = var.max_retries
  s3_use_path_style = true

  skip_metadata_api_check     = !var.instance_credentials
  skip_credentials_validation = true

  # The controller writes these tags while a run goes on.
  ignore_tags {
    keys = ["centavo:run", "centavo:rank"]
  }
}

module "centavo" {
  source = "../.."

  cluster  = yamldecode(file("${path.module}/centavo.yml")).cluster
  capacity = var.capacity

  flavors = {
    "t2.medium"  = { max_nodes = 12 }
    "t2.large"   = { max_nodes = 12 }
    "t2.xlarge"  = { max_nodes = 12 }
    "c5.large"   = { max_nodes = 12 }
    "c5.xlarge"  = { max_nodes = 12 }
    "c5.2xlarge" = { max_nodes = 12 }
  }

  # The head listens on loopback, which this machine reaches.
  head = {
    instance_type   = "t3.micro"
    session_manager = false
  }

  # Addresses of this machine: every host of the local cloud listens on its instance's private address.
  vpc_cidr           = "127.20.0.0/16"
  availability_zones = ["us-east-1a"]
  training_zone      = "us-east-1a"
  nat_gateways       = 0
  ssh_port           = 2222

  # The local cloud offers this image. Its hosts run on this machine's own system.
  image = {
    owner = "099720109477"
    name  = "ubuntu/images/hvm-ssd/ubuntu-xenial-16.04-amd64-server-20170721"
  }
  fact_path = "~/facts.d"

  controller_on_head = {} # the state is a file, which the head gets a copy of

  ssh_public_key  = var.ssh_public_key
  customer_key    = false
  flow_logs       = false
  check_quotas    = false
  destroy_results = true
  require_tls     = false # the local cloud's endpoint is plain HTTP on loopback

  # Nobody needs what is deleted here.
  keep_deleted_days = null

  tags = { Project = "centavo" }
}

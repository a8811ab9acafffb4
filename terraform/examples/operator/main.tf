# This example gives a person what `make plan`, `make apply`, `make optimize` and `make destroy` with environments/aws need. Apply it once, in
# this folder, with the credentials of an administrator. The state of this example stays on your machine: keep it.
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

locals {
  # IAM allows 6144 characters in a policy, so there are two: what Terraform makes, and what a run needs.
  policies = {
    build = "What `make apply` and `make destroy` with environments/aws need to make and remove a cluster"
    run   = "What a run with environments/aws needs on a cluster that is there"
  }
}

resource "aws_iam_policy" "this" {
  for_each = local.policies

  #checkov:skip=CKV_AWS_286:Who makes the nodes' roles may give them rights; IAM limits that to roles named centavo-*
  #checkov:skip=CKV_AWS_287:The policy lets nobody read credentials
  #checkov:skip=CKV_AWS_288:What EC2 and KMS make has no name before it is made; conditions limit it to the region
  #checkov:skip=CKV_AWS_289:Who makes the nodes' roles may give them rights; IAM limits that to roles named centavo-*
  #checkov:skip=CKV_AWS_290:What EC2 and KMS make has no name before it is made; conditions limit it to the region
  #checkov:skip=CKV_AWS_355:Actions that only describe take no resource

  name        = "centavo-${each.key}"
  description = each.value
  policy      = replace(file("${path.module}/../../environments/aws/policies/${each.key}.json"), "us-east-1", var.region)
}

resource "aws_iam_group" "this" {
  name = "centavo-operators"
}

resource "aws_iam_group_policy_attachment" "this" {
  for_each = aws_iam_policy.this

  group      = aws_iam_group.this.name
  policy_arn = each.value.arn
}

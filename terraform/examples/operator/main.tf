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

# IAM allows 6144 characters in a policy, so the file has no room for much more.
resource "aws_iam_policy" "this" {
  #checkov:skip=CKV_AWS_286:Who makes the nodes' roles may give them rights; IAM limits that to roles named centavo-*
  #checkov:skip=CKV_AWS_287:The policy lets nobody read credentials
  #checkov:skip=CKV_AWS_288:What EC2 and KMS make has no name before it is made; conditions limit it to the region
  #checkov:skip=CKV_AWS_289:Who makes the nodes' roles may give them rights; IAM limits that to roles named centavo-*
  #checkov:skip=CKV_AWS_290:What EC2 and KMS make has no name before it is made; conditions limit it to the region
  #checkov:skip=CKV_AWS_355:Actions that only describe take no resource

  name        = "centavo-operator"
  description = "What a person needs to run Centavo with environments/aws"
  policy      = replace(file("${path.module}/../../environments/aws/policy.json"), "us-east-1", var.region)
}

resource "aws_iam_group" "this" {
  name = "centavo-operators"
}

resource "aws_iam_group_policy_attachment" "this" {
  group      = aws_iam_group.this.name
  policy_arn = aws_iam_policy.this.arn
}

mock_provider "aws" {
  mock_data "aws_iam_policy_document" {
    defaults = { json = "{\"Version\":\"2012-10-17\",\"Statement\":[]}" }
  }
}

variables {
  name           = "unit"
  ssh_public_key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIO0tc2DSKmsqoVeJXjnQ1r6vTqYvLWUSBLJQCJGQGQ9h unit"
  bucket_arn     = "arn:aws:s3:::unit"
}

run "head_and_workers_have_a_role_each" {
  command = plan

  assert {
    condition     = toset([for role in values(aws_iam_role.this) : role.name]) == toset(["unit-head", "unit-worker"])
    error_message = "There must be one role for the head and one for the workers."
  }

  assert {
    condition     = output.head_instance_profile == "unit-head" && output.worker_instance_profile == "unit-worker" && output.key_name == "unit"
    error_message = "The outputs must name the instance profiles and the key pair."
  }
}

run "nodes_reach_this_bucket_and_no_other" {
  command = plan

  assert {
    condition = toset(flatten([for statement in data.aws_iam_policy_document.bucket.statement : statement.resources])) == toset([
      "arn:aws:s3:::unit", "arn:aws:s3:::unit/*",
    ])
    error_message = "The policy must name the bucket and its objects, and nothing else."
  }

  assert {
    condition     = !anytrue([for statement in data.aws_iam_policy_document.bucket.statement : anytrue([for action in statement.actions : strcontains(action, "*")])])
    error_message = "The policy must name each action."
  }

  assert {
    condition     = !contains(flatten([for statement in data.aws_iam_policy_document.bucket.statement : statement.actions]), "s3:DeleteObjectVersion")
    error_message = "Nodes must not be able to destroy old versions of checkpoints."
  }
}

run "the_bucket_s_key_comes_with_the_bucket" {
  command = plan

  variables {
    kms_key_arn = "arn:aws:kms:us-east-1:123456789012:key/00000000-0000-0000-0000-000000000000"
  }

  assert {
    condition     = contains(flatten([for statement in data.aws_iam_policy_document.bucket.statement : statement.resources]), var.kms_key_arn)
    error_message = "Nodes need the bucket's key to read and write in it."
  }
}

run "only_the_head_answers_sessions" {
  command = apply

  assert {
    condition     = aws_iam_role_policy.session.role == aws_iam_role.this["head"].id
    error_message = "Systems Manager sessions end at the head."
  }
}

run "refuses_a_private_key" {
  command = plan

  variables {
    ssh_public_key = "-----BEGIN OPENSSH PRIVATE KEY-----"
  }

  expect_failures = [var.ssh_public_key]
}

run "refuses_a_kind_of_key_that_ec2_does_not_take" {
  command = plan

  variables {
    ssh_public_key = "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTY= unit"
  }

  expect_failures = [var.ssh_public_key]
}

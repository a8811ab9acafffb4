mock_provider "aws" {
  mock_data "aws_caller_identity" {
    defaults = { account_id = "123456789012" }
  }

  mock_data "aws_partition" {
    defaults = { partition = "aws" }
  }

  mock_data "aws_region" {
    defaults = { name = "eu-west-1" }
  }

  mock_data "aws_iam_policy_document" {
    defaults = { json = "{\"Version\":\"2012-10-17\",\"Statement\":[]}" }
  }
}

variables {
  name           = "unit"
  ssh_public_key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIO0tc2DSKmsqoVeJXjnQ1r6vTqYvLWUSBLJQCJGQGQ9h unit"
  bucket_arn     = "arn:aws:s3:::unit"
  log_group_arn  = "arn:aws:logs:us-east-1:123456789012:log-group:/centavo/unit"
}

run "head_and_workers_have_different_roles" {
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

run "nodes_may_use_this_bucket_only" {
  command = plan

  assert {
    condition = toset(flatten([for statement in data.aws_iam_policy_document.bucket.statement : statement.resources if statement.effect != "Deny"])) == toset([
      "arn:aws:s3:::unit", "arn:aws:s3:::unit/*",
    ])
    error_message = "The policy must name the bucket and its objects, and nothing else."
  }

  assert {
    condition     = !anytrue([for statement in data.aws_iam_policy_document.bucket.statement : anytrue([for action in statement.actions : strcontains(action, "*")])])
    error_message = "The policy must name each action, without wildcards."
  }

  assert {
    condition     = !contains(flatten([for statement in data.aws_iam_policy_document.bucket.statement : statement.actions]), "s3:DeleteObjectVersion")
    error_message = "Nodes must not be allowed to delete old versions of checkpoints."
  }
}

run "nodes_may_use_the_key_of_the_bucket" {
  command = plan

  variables {
    kms_key_arn = "arn:aws:kms:us-east-1:123456789012:key/00000000-0000-0000-0000-000000000000"
  }

  assert {
    condition     = contains(flatten([for statement in data.aws_iam_policy_document.bucket.statement : statement.resources]), var.kms_key_arn)
    error_message = "The policy must allow the bucket's KMS key: without it, nodes cannot read or write objects."
  }
}

run "the_switch_of_a_node_is_limited_to_its_cluster" {
  command = plan

  assert {
    condition = alltrue([
      for statement in concat(data.aws_iam_policy_document.head_warden.statement, data.aws_iam_policy_document.worker_warden.statement) :
      anytrue([for condition in statement.condition : condition.variable == "aws:ResourceTag/centavo:cluster" && toset(condition.values) == toset(["unit"])])
      if !contains(statement.actions, "autoscaling:DescribeAutoScalingGroups")
    ])
    error_message = "A node may change only what carries its cluster's tag."
  }

  assert {
    condition = toset(flatten([
      for statement in concat(data.aws_iam_policy_document.head_warden.statement, data.aws_iam_policy_document.worker_warden.statement) : statement.resources
      if !contains(statement.actions, "autoscaling:DescribeAutoScalingGroups")
      ])) == toset([
      "arn:aws:autoscaling:eu-west-1:123456789012:autoScalingGroup:*:autoScalingGroupName/*",
      "arn:aws:ec2:eu-west-1:123456789012:instance/*",
    ])
    error_message = "A node may change only what belongs to this account in this region."
  }

  assert {
    condition     = toset(flatten([for statement in data.aws_iam_policy_document.worker_warden.statement : statement.actions])) == toset(["autoscaling:TerminateInstanceInAutoScalingGroup"])
    error_message = "A worker may end workers, and nothing else."
  }

  assert {
    condition = anytrue([
      for statement in data.aws_iam_policy_document.head_warden.statement :
      toset(statement.actions) == toset(["ec2:StopInstances", "ec2:TerminateInstances"]) && anytrue([for condition in statement.condition : condition.variable == "aws:ResourceTag/centavo:role" && toset(condition.values) == toset(["head"])])
    ])
    error_message = "Of single instances, the head may end the head only."
  }
}

run "nodes_may_write_to_this_log_group_only" {
  command = plan

  assert {
    condition     = one(data.aws_iam_policy_document.logs.statement).resources == toset(["arn:aws:logs:us-east-1:123456789012:log-group:/centavo/unit:*"])
    error_message = "The policy must name the streams of this log group, and nothing else."
  }

  assert {
    condition     = !anytrue([for action in one(data.aws_iam_policy_document.logs.statement).actions : strcontains(action, "*") || strcontains(action, "Delete") || strcontains(action, "Retention")])
    error_message = "Nodes must not be allowed to delete logs or to change how long they are kept."
  }

  assert {
    condition     = toset(keys(aws_iam_role_policy.logs)) == toset(["head", "worker"])
    error_message = "Both roles must be allowed to write logs."
  }
}

run "systems_manager_opens_sessions_on_the_head_only" {
  command = apply

  assert {
    condition     = aws_iam_role_policy.session[0].role == aws_iam_role.this["head"].id
    error_message = "Only the role of the head may allow Systems Manager sessions."
  }
}

run "refuses_a_private_key" {
  command = plan

  variables {
    ssh_public_key = "-----BEGIN OPENSSH PRIVATE KEY-----"
  }

  expect_failures = [var.ssh_public_key]
}

run "refuses_a_kind_of_key_that_ec2_does_not_accept" {
  command = plan

  variables {
    ssh_public_key = "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTY= unit"
  }

  expect_failures = [var.ssh_public_key]
}

run "existing_profiles_are_taken_and_nothing_of_iam_is_made" {
  command = plan

  variables {
    profiles = { head = "our-head", worker = "our-worker" }
  }

  override_data {
    target = data.aws_iam_instance_profile.existing
    values = { id = "existing" }
  }

  assert {
    condition     = length(aws_iam_role.this) == 0 && length(aws_iam_instance_profile.this) == 0 && length(aws_iam_role_policy.bucket) == 0 && length(aws_iam_role_policy.session) == 0 && length(aws_iam_role_policy.warden) == 0
    error_message = "With existing instance profiles the module must make no role, no profile and no policy."
  }

  assert {
    condition     = output.head_instance_profile == "our-head" && output.worker_instance_profile == "our-worker"
    error_message = "The outputs must name the existing instance profiles."
  }
}

run "no_controller_runs_on_the_head_unless_that_is_asked_for" {
  command = plan

  assert {
    condition     = length(aws_iam_role_policy.controller) == 0 && length(aws_iam_role_policy.state) == 0
    error_message = "Without var.controller the head's role must not get the policies of a controller."
  }
}

run "a_controller_on_the_head_may_change_the_fleet_and_write_the_state" {
  command = plan

  variables {
    controller = { state_bucket = "my-state", state_key = "centavo/terraform.tfstate" }
  }

  assert {
    condition     = length(aws_iam_role_policy.controller) == 1 && length(aws_iam_role_policy.state) == 1
    error_message = "The head's role must get both policies."
  }

  assert {
    condition     = jsondecode(aws_iam_role_policy.controller[0].policy).Version == "2012-10-17" && strcontains(aws_iam_role_policy.controller[0].policy, "\"aws:ResourceTag/centavo:cluster\": \"unit\"")
    error_message = "The policy must be JSON that names the cluster."
  }

  assert {
    condition = toset(flatten([for statement in data.aws_iam_policy_document.state[0].statement : statement.resources if !contains(statement.actions, "kms:Decrypt")])) == toset([
      "arn:*:s3:::my-state", "arn:*:s3:::my-state/centavo/terraform.tfstate", "arn:*:s3:::my-state/centavo/terraform.tfstate.tflock",
    ])
    error_message = "The policy must name the state, its lock and nothing else in that bucket."
  }
}

run "a_state_that_is_a_file_needs_no_policy" {
  command = plan

  variables {
    controller = {}
  }

  assert {
    condition     = length(aws_iam_role_policy.controller) == 1 && length(aws_iam_role_policy.state) == 0
    error_message = "Without a bucket of the state there must be no policy for it."
  }
}

mock_provider "aws" {
  mock_data "aws_iam_policy_document" {
    defaults = { json = "{\"Version\":\"2012-10-17\",\"Statement\":[]}" }
  }

  mock_data "aws_caller_identity" {
    defaults = { account_id = "123456789012" }
  }

  mock_data "aws_partition" {
    defaults = { partition = "aws" }
  }

  mock_resource "aws_iam_openid_connect_provider" {
    defaults = { arn = "arn:aws:iam::123456789012:oidc-provider/token.actions.githubusercontent.com" }
  }
}

variables {
  cluster    = "centavo"
  region     = "us-east-1"
  repository = "octo/training"
  state = {
    bucket_arn  = "arn:aws:s3:::state"
    key         = "centavo/aws/terraform.tfstate"
    kms_key_arn = "arn:aws:kms:us-east-1:123456789012:key/00000000-0000-0000-0000-000000000000"
  }
}

run "each_role_trusts_exact_jobs_of_one_repository" {
  command = apply

  assert {
    condition = alltrue([for document in values(data.aws_iam_policy_document.trust) : toset([
      for condition in document.statement[0].condition : "${condition.test} ${condition.variable}"
      ]) == toset([
      "StringEquals token.actions.githubusercontent.com:aud", "StringEquals token.actions.githubusercontent.com:sub",
    ])])
    error_message = "Every trust policy must compare audience and subject exactly: without either, other repositories could take the role."
  }

  assert {
    condition = alltrue([for document in values(data.aws_iam_policy_document.trust) : anytrue([
      for condition in document.statement[0].condition : endswith(condition.variable, ":aud") && toset(condition.values) == toset(["sts.amazonaws.com"])
    ])])
    error_message = "The audience must be that of AWS."
  }

  assert {
    condition = toset(flatten([for condition in data.aws_iam_policy_document.trust["plan"].statement[0].condition : condition.values if endswith(condition.variable, ":sub")])) == toset([
      "repo:octo/training:pull_request", "repo:octo/training:ref:refs/heads/main",
    ])
    error_message = "Pull requests and the protected branch may take the plan role, and nothing else."
  }

  assert {
    condition     = flatten([for condition in data.aws_iam_policy_document.trust["apply"].statement[0].condition : condition.values if endswith(condition.variable, ":sub")]) == ["repo:octo/training:environment:aws"]
    error_message = "Only jobs of the environment may take the apply role."
  }

  assert {
    condition     = alltrue([for document in values(data.aws_iam_policy_document.trust) : one(one(document.statement).principals).identifiers == toset([aws_iam_openid_connect_provider.this[0].arn]) && one(document.statement).actions == toset(["sts:AssumeRoleWithWebIdentity"])])
    error_message = "Only tokens of GitHub may be exchanged for a role."
  }

  assert {
    condition     = aws_iam_role_policy.apply.role == aws_iam_role.this["apply"].id && aws_iam_role_policy.apply.role != aws_iam_role.this["plan"].id
    error_message = "The policy that allows changes belongs to the apply role alone."
  }
}

run "the_plan_role_only_reads" {
  command = plan

  assert {
    condition = alltrue([for action in flatten([for statement in data.aws_iam_policy_document.read.statement : tolist(statement.actions)]) :
      can(regex("^[a-z0-9]+:(Describe|Get|List)", action)) || action == "kms:Decrypt"
    ])
    error_message = "The plan role runs the code of pull requests: it must not change anything."
  }

  assert {
    condition = toset(flatten([for statement in data.aws_iam_policy_document.read.statement : tolist(statement.resources) if contains(statement.actions, "s3:GetObject")])) == toset([
      "arn:aws:s3:::state/centavo/aws/terraform.tfstate",
    ])
    error_message = "Of all objects the plan role reads the state only."
  }

  assert {
    condition     = !anytrue([for statement in data.aws_iam_policy_document.read.statement : anytrue([for action in statement.actions : strcontains(action, "Secret") || strcontains(action, "Parameter") || strcontains(action, "ListUsers")])])
    error_message = "The plan role must not read secrets or parameters."
  }
}

run "the_apply_role_changes_this_cluster_and_never_itself" {
  command = plan

  assert {
    condition = toset(flatten([for statement in data.aws_iam_policy_document.apply.statement : tolist(statement.resources) if statement.sid == "HandTheRolesToWhatUsesThem"])) == toset([
      "arn:aws:iam::123456789012:role/centavo-head", "arn:aws:iam::123456789012:role/centavo-worker", "arn:aws:iam::123456789012:role/centavo-flow-logs",
      "arn:aws:iam::123456789012:role/centavo-reaper",
    ])
    error_message = "Only the roles of this cluster may be handed on, by their exact names."
  }

  assert {
    condition = alltrue([for statement in data.aws_iam_policy_document.apply.statement : !contains(statement.resources, "*") || anytrue([
      for condition in statement.condition : condition.variable == "aws:RequestedRegion" && toset(condition.values) == toset(["us-east-1"])
    ]) if statement.effect != "Deny"])
    error_message = "What is not limited to resources must be limited to the region."
  }

  assert {
    condition     = !anytrue([for statement in data.aws_iam_policy_document.apply.statement : anytrue([for action in statement.actions : strcontains(action, "*")]) if statement.effect != "Deny"])
    error_message = "The policy must name each action, without wildcards."
  }

  assert {
    condition = anytrue([for statement in data.aws_iam_policy_document.apply.statement :
      statement.effect == "Deny" && length(setsubtract(["arn:aws:iam::123456789012:role/pipeline-plan", "arn:aws:iam::123456789012:role/pipeline-apply"], statement.resources)) == 0
    ])
    error_message = "The apply role must not change the roles of the pipeline."
  }

  assert {
    condition = toset(flatten([for statement in data.aws_iam_policy_document.apply.statement : tolist(statement.resources) if anytrue([for resource in statement.resources : startswith(resource, "arn:aws:s3:::state")])])) == toset([
      "arn:aws:s3:::state/centavo/aws/terraform.tfstate", "arn:aws:s3:::state/centavo/aws/terraform.tfstate.tflock",
    ])
    error_message = "The apply role may write the state and its lock, and nothing else in the state's bucket."
  }
}

run "takes_a_provider_that_the_account_has" {
  command = plan

  variables {
    provider_arn = "arn:aws:iam::123456789012:oidc-provider/token.actions.githubusercontent.com"
  }

  assert {
    condition     = length(aws_iam_openid_connect_provider.this) == 0 && output.provider_arn == var.provider_arn
    error_message = "An account has one provider for GitHub: where it is given, no second one may be made."
  }
}

run "refuses_a_repository_with_a_wildcard" {
  command = plan

  variables {
    repository = "octo/*"
  }

  expect_failures = [var.repository]
}

run "refuses_an_environment_with_a_wildcard" {
  command = plan

  variables {
    environment = "*"
  }

  expect_failures = [var.environment]
}

run "refuses_a_branch_with_a_wildcard" {
  command = plan

  variables {
    branch = "release/*"
  }

  expect_failures = [var.branch]
}

run "refuses_the_name_of_the_cluster" {
  command = plan

  variables {
    name = "centavo"
  }

  expect_failures = [var.cluster]
}

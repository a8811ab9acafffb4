mock_provider "aws" {
  mock_data "aws_caller_identity" {
    defaults = { account_id = "123456789012" }
  }

  mock_data "aws_partition" {
    defaults = { partition = "aws" }
  }

  mock_data "aws_iam_policy_document" {
    defaults = { json = "{\"Version\":\"2012-10-17\",\"Statement\":[]}" }
  }
}

variables {
  name   = "unit"
  region = "us-east-1"
}

run "the_key_is_rotated_and_named_after_the_cluster" {
  command = plan

  assert {
    condition     = aws_kms_key.this.enable_key_rotation && aws_kms_alias.this.name == "alias/unit"
    error_message = "KMS must rotate the key, and its alias must be the name of the cluster."
  }
}

run "cloudwatch_logs_may_use_the_key_for_this_cluster_only" {
  command = plan

  assert {
    condition = toset(flatten([for statement in data.aws_iam_policy_document.this.statement : [for condition in statement.condition : condition.values]])) == toset([
      "arn:aws:logs:us-east-1:123456789012:log-group:/centavo/unit", "arn:aws:logs:us-east-1:123456789012:log-group:/centavo/unit/*",
    ])
    error_message = "The policy must limit CloudWatch Logs to the log groups of this cluster."
  }
}

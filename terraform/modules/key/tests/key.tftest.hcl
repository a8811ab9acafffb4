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

run "the_key_turns_every_year" {
  command = plan

  assert {
    condition     = aws_kms_key.this.enable_key_rotation && aws_kms_alias.this.name == "alias/unit"
    error_message = "The key must rotate, and bear the cluster's name as its alias."
  }
}

run "logs_may_use_it_for_this_cluster_alone" {
  command = plan

  assert {
    condition = contains(
      flatten([for statement in data.aws_iam_policy_document.this.statement : [for condition in statement.condition : condition.values]]),
      "arn:aws:logs:us-east-1:123456789012:log-group:/centavo/unit/*",
    )
    error_message = "CloudWatch may use the key for the log groups of this cluster and no others."
  }
}

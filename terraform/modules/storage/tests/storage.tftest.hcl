mock_provider "aws" {
  mock_data "aws_iam_policy_document" {
    defaults = { json = "{\"Version\":\"2012-10-17\",\"Statement\":[]}" }
  }
}

variables {
  name = "unit"
}

run "the_bucket_is_private_versioned_and_encrypted" {
  command = apply

  assert {
    condition = (
      aws_s3_bucket_public_access_block.this.block_public_acls && aws_s3_bucket_public_access_block.this.block_public_policy &&
      aws_s3_bucket_public_access_block.this.ignore_public_acls && aws_s3_bucket_public_access_block.this.restrict_public_buckets
    )
    error_message = "The bucket must block all public access."
  }

  assert {
    condition     = aws_s3_bucket_versioning.this.versioning_configuration[0].status == "Enabled"
    error_message = "Versioning must be on, so that the bucket keeps overwritten checkpoints."
  }

  assert {
    condition     = one(aws_s3_bucket_server_side_encryption_configuration.this.rule).apply_server_side_encryption_by_default[0].sse_algorithm == "AES256"
    error_message = "Without kms_key_arn, keys of S3 must encrypt the objects."
  }
}

run "by_default_a_destroy_deletes_no_results" {
  command = plan

  assert {
    condition     = aws_s3_bucket.this.force_destroy == false
    error_message = "force_destroy must be false by default, so that a destroy deletes no results."
  }
}

run "supplies_that_no_run_has_written_anew_are_deleted" {
  command = plan

  assert {
    condition     = toset([for rule in one(aws_s3_bucket_lifecycle_configuration.this).rule : rule.filter[0].prefix if length(rule.expiration) > 0]) == toset(["wheelhouse/", "corpus/", "control/bundles/", "control/tools/"])
    error_message = "Packages, corpora and bundles must end by themselves, and checkpoints and results never."
  }
}

run "the_bucket_refuses_requests_without_tls" {
  command = apply

  assert {
    condition = (
      one(data.aws_iam_policy_document.tls_only.statement).effect == "Deny" &&
      one(one(data.aws_iam_policy_document.tls_only.statement).condition).variable == "aws:SecureTransport" &&
      length(one(data.aws_iam_policy_document.tls_only.statement).resources) == 2
    )
    error_message = "The bucket's policy must deny all requests without TLS, to the bucket and to its objects."
  }
}

run "the_given_kms_key_encrypts_the_objects" {
  command = apply

  variables {
    kms_key_arn = "arn:aws:kms:us-east-1:123456789012:key/00000000-0000-0000-0000-000000000000"
  }

  assert {
    condition     = one(aws_s3_bucket_server_side_encryption_configuration.this.rule).apply_server_side_encryption_by_default[0].sse_algorithm == "aws:kms"
    error_message = "The bucket must encrypt with KMS when kms_key_arn is given."
  }
}

run "old_versions_are_deleted_after_30_days" {
  command = apply

  assert {
    condition     = aws_s3_bucket_lifecycle_configuration.this[0].rule[0].noncurrent_version_expiration[0].noncurrent_days == 30
    error_message = "By default the bucket must keep old versions for 30 days."
  }
}

run "old_versions_stay_when_noncurrent_days_is_null" {
  command = plan

  variables {
    noncurrent_days = null
  }

  assert {
    condition     = length(aws_s3_bucket_lifecycle_configuration.this) == 0
    error_message = "noncurrent_days = null must make no lifecycle rule."
  }
}

run "refuses_a_name_that_no_bucket_may_have" {
  command = plan

  variables {
    name = "Unit_Bucket"
  }

  expect_failures = [var.name]
}

run "refuses_to_keep_old_versions_for_half_a_day" {
  command = plan

  variables {
    noncurrent_days = 0.5
  }

  expect_failures = [var.noncurrent_days]
}

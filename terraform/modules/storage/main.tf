resource "aws_s3_bucket" "this" {
  #checkov:skip=CKV2_AWS_62:No program listens for events of the bucket; the controller reads facts
  #checkov:skip=CKV_AWS_18:Server access logs would need another bucket; CloudTrail's data events show who reads, if the account records them
  #checkov:skip=CKV_AWS_144:Checkpoints serve one training in one region; the loss of that region loses this training only
  #checkov:skip=CKV_AWS_145:The bucket uses KMS when kms_key_arn is given, and the root module gives it unless customer_key is false

  bucket_prefix = "${var.name}-"
  force_destroy = var.force_destroy

  tags = merge(var.tags, { Name = var.name })
}

resource "aws_s3_bucket_public_access_block" "this" {
  bucket = aws_s3_bucket.this.id

  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}

resource "aws_s3_bucket_ownership_controls" "this" {
  bucket = aws_s3_bucket.this.id

  rule {
    object_ownership = "BucketOwnerEnforced"
  }
}

resource "aws_s3_bucket_versioning" "this" {
  bucket = aws_s3_bucket.this.id

  versioning_configuration {
    status = "Enabled"
  }
}

resource "aws_s3_bucket_server_side_encryption_configuration" "this" {
  bucket = aws_s3_bucket.this.id

  rule {
    bucket_key_enabled = var.kms_key_arn != null

    apply_server_side_encryption_by_default {
      sse_algorithm     = var.kms_key_arn == null ? "AES256" : "aws:kms"
      kms_master_key_id = var.kms_key_arn
    }
  }
}

locals {
  # What a run writes anew when it is a third as old (controller/edges/supplying/store.py): packages, corpora, controllers, Terraform.
  supplies      = ["wheelhouse/", "corpus/", "control/bundles/", "control/tools/"]
  supplied_days = 180
}

resource "aws_s3_bucket_lifecycle_configuration" "this" {
  count = var.noncurrent_days == null ? 0 : 1

  bucket = aws_s3_bucket.this.id

  rule {
    id     = "end-what-nobody-needs"
    status = "Enabled"

    filter {}

    noncurrent_version_expiration {
      noncurrent_days = var.noncurrent_days
    }

    abort_incomplete_multipart_upload {
      days_after_initiation = 7
    }
  }

  dynamic "rule" {
    for_each = local.supplies

    content {
      id     = "end-old-${replace(trimsuffix(rule.value, "/"), "/", "-")}"
      status = "Enabled"

      filter {
        prefix = rule.value
      }

      expiration {
        days = local.supplied_days
      }
    }
  }

  # Lifecycle rules for old versions have an effect only when versioning is on, so versioning comes first.
  depends_on = [aws_s3_bucket_versioning.this]
}

data "aws_iam_policy_document" "tls_only" {
  statement {
    sid       = "RefuseWithoutTls"
    effect    = "Deny"
    actions   = ["s3:*"]
    resources = [aws_s3_bucket.this.arn, "${aws_s3_bucket.this.arn}/*"]

    principals {
      type        = "*"
      identifiers = ["*"]
    }

    condition {
      test     = "Bool"
      variable = "aws:SecureTransport"
      values   = ["false"]
    }
  }
}

resource "aws_s3_bucket_policy" "this" {
  count = var.require_tls ? 1 : 0

  bucket = aws_s3_bucket.this.id
  policy = data.aws_iam_policy_document.tls_only.json

  depends_on = [aws_s3_bucket_public_access_block.this]
}

data "aws_caller_identity" "this" {}

data "aws_partition" "this" {}

data "aws_iam_policy_document" "this" {
  #checkov:skip=CKV_AWS_109:"*" of a key policy means its own key, and the account's administrators rule it through IAM (KMS's default key policy)
  #checkov:skip=CKV_AWS_111:"*" of a key policy means its own key, and the account's administrators rule it through IAM (KMS's default key policy)
  #checkov:skip=CKV_AWS_356:"*" of a key policy means its own key, and the account's administrators rule it through IAM (KMS's default key policy)

  # This statement lets IAM policies of the account allow the use of the key. Without it, nobody could change the key any more.
  # In a key policy, "*" means the key itself.
  statement {
    sid       = "AccountAdministersByIam"
    actions   = ["kms:*"]
    resources = ["*"]

    principals {
      type        = "AWS"
      identifiers = ["arn:${data.aws_partition.this.partition}:iam::${data.aws_caller_identity.this.account_id}:root"]
    }
  }

  statement {
    sid       = "LogsEncryptThisClustersGroups"
    actions   = ["kms:Encrypt", "kms:Decrypt", "kms:ReEncryptFrom", "kms:ReEncryptTo", "kms:GenerateDataKey", "kms:DescribeKey"]
    resources = ["*"]

    principals {
      type        = "Service"
      identifiers = ["logs.${var.region}.amazonaws.com"]
    }

    condition {
      test     = "ArnLike"
      variable = "kms:EncryptionContext:aws:logs:arn"
      values   = [for groups in ["", "/*"] : "arn:${data.aws_partition.this.partition}:logs:${var.region}:${data.aws_caller_identity.this.account_id}:log-group:/centavo/${var.name}${groups}"]
    }
  }
}

resource "aws_kms_key" "this" {
  description             = "Bucket and logs of ${var.name}"
  enable_key_rotation     = true
  deletion_window_in_days = 7
  policy                  = data.aws_iam_policy_document.this.json

  tags = merge(var.tags, { Name = var.name })
}

resource "aws_kms_alias" "this" {
  name          = "alias/${var.name}"
  target_key_id = aws_kms_key.this.key_id
}

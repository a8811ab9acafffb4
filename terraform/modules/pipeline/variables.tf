variable "name" {
  description = "Beginning of the names of both roles. It is not the name of a cluster, or the role of the pipeline could change itself."
  type        = string
  default     = "pipeline"

  validation {
    condition     = can(regex("^[A-Za-z][A-Za-z0-9-]{0,39}$", var.name))
    error_message = "name begins with a letter and has letters, digits and hyphens, 40 at most."
  }
}

variable "cluster" {
  description = "Name of the cluster that the pipeline plans and applies, as environments/ENV/main.tf has it."
  type        = string

  validation {
    condition     = can(regex("^[A-Za-z][A-Za-z0-9-]{0,39}$", var.cluster)) && !startswith(var.name, var.cluster)
    error_message = "cluster begins with a letter and has letters, digits and hyphens, 40 at most. The name of the pipeline must not begin with it."
  }
}

variable "region" {
  description = "Region of the cluster."
  type        = string
}

variable "repository" {
  description = "Repository on GitHub whose workflows take the roles, as OWNER/NAME."
  type        = string

  validation {
    condition     = can(regex("^[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+$", var.repository))
    error_message = "repository is OWNER/NAME, without wildcards: with one, other repositories could take the roles."
  }
}

variable "branch" {
  description = "Protected branch on which the workflow `apply` plans again."
  type        = string
  default     = "main"

  validation {
    condition     = can(regex("^[A-Za-z0-9][A-Za-z0-9._/-]*$", var.branch))
    error_message = "branch is the whole name of one branch, without wildcards."
  }
}

variable "environment" {
  description = "GitHub environment whose jobs may take the role that applies. Let only the protected branch deploy to it, and give it required reviewers."
  type        = string
  default     = "aws"

  validation {
    condition     = can(regex("^[A-Za-z0-9][A-Za-z0-9._-]*$", var.environment))
    error_message = "environment is the whole name of one environment, without wildcards."
  }
}

variable "state" {
  description = "Terraform's state. bucket_arn: ARN of its bucket. key: its key in the bucket. kms_key_arn: ARN of the KMS key that encrypts it, null if there is none."
  type = object({
    bucket_arn  = string
    key         = string
    kms_key_arn = optional(string)
  })
}

variable "provider_arn" {
  description = "ARN of GitHub's OIDC provider, if the account has it already. Null: this module makes the provider."
  type        = string
  default     = null
}

variable "tags" {
  description = "Tags of every resource."
  type        = map(string)
  default     = {}
}

variable "name" {
  description = "Name of the cluster and of the key pair. The names of the roles begin with it, and a role name is unique in an account over all regions."
  type        = string
}

variable "ssh_public_key" {
  description = "OpenSSH public key that may log in to the nodes."
  type        = string

  validation {
    condition     = can(regex("^(ssh-ed25519|ssh-rsa) [A-Za-z0-9+/]+=*( .*)?$", trimspace(var.ssh_public_key)))
    error_message = "ssh_public_key is no public key of a kind that EC2 accepts. Give one line that begins with \"ssh-ed25519 AAAA\" or \"ssh-rsa AAAA\": the content of the .pub file that `ssh-keygen -t ed25519` writes. Never give the private key."
  }
}

variable "bucket_arn" {
  description = "ARN of the bucket that the nodes read and write."
  type        = string
}

variable "kms_key_arn" {
  description = "ARN of the KMS key that encrypts the bucket. Null: keys of S3 encrypt it."
  type        = string
  default     = null
}

variable "log_group_arn" {
  description = "ARN of the CloudWatch log group that the nodes write their logs to."
  type        = string
}

variable "profiles" {
  description = "Names of existing instance profiles for the head and for the workers. Null: the module makes roles and profiles."
  type = object({
    head   = string
    worker = string
  })
  default = null
}

variable "controller" {
  description = "What a controller on the head needs. state_bucket and state_key: where Terraform's S3 backend has the state, if it does. state_key_alias: the alias of the KMS key that encrypts that bucket. Null: no controller runs on the head."
  type = object({
    state_bucket    = optional(string)
    state_key       = optional(string)
    state_key_alias = optional(string, "centavo-state")
  })
  default = null
}

variable "tags" {
  description = "Tags of every resource."
  type        = map(string)
  default     = {}
}

variable "name" {
  description = "Name of the key pair and first part of the roles' names. Role names are unique in an account, over all regions."
  type        = string
}

variable "ssh_public_key" {
  description = "OpenSSH public key that may log in to the nodes."
  type        = string

  validation {
    condition     = can(regex("^(ssh-ed25519|ssh-rsa) [A-Za-z0-9+/]+=*( .*)?$", trimspace(var.ssh_public_key)))
    error_message = "ssh_public_key must be one line, \"ssh-ed25519 AAAA...\" or \"ssh-rsa AAAA...\": the content of a .pub file that `ssh-keygen -t ed25519` wrote. EC2 takes no other kinds."
  }
}

variable "bucket_arn" {
  description = "ARN of the bucket that the nodes read and write."
  type        = string
}

variable "kms_key_arn" {
  description = "KMS key of that bucket; null where S3's own keys encrypt it."
  type        = string
  default     = null
}

variable "tags" {
  description = "Tags of every resource."
  type        = map(string)
  default     = {}
}

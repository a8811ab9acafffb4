variable "region" {
  description = "AWS region of the cluster."
  type        = string
  default     = "us-east-1"
}

variable "repository" {
  description = "Repository on GitHub whose workflows take the roles, as OWNER/NAME."
  type        = string
}

variable "state_bucket" {
  description = "Name of the bucket that holds the state, as in backend.hcl."
  type        = string
}

variable "region" {
  description = "AWS region of the cluster. The policy allows nothing to be made in other regions."
  type        = string
  default     = "us-east-1"
}

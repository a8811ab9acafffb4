variable "region" {
  description = "AWS region of the bucket."
  type        = string
  default     = "us-east-1"
}

variable "region" {
  description = "Region of the bucket."
  type        = string
  default     = "us-east-1"
}

variable "name" {
  description = "Name of the cluster. It is the alias of the key, and CloudWatch Logs may encrypt log groups of this cluster only."
  type        = string
}

variable "region" {
  description = "Region of the log groups that the key may encrypt."
  type        = string
}

variable "tags" {
  description = "Tags of every resource."
  type        = map(string)
  default     = {}
}

variable "name" {
  description = "Alias of the key, and name of the cluster whose log groups it may encrypt."
  type        = string
}

variable "region" {
  description = "Region of the logs that it may encrypt."
  type        = string
}

variable "tags" {
  description = "Tags of every resource."
  type        = map(string)
  default     = {}
}

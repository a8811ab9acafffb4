variable "capacity" {
  description = "Number of nodes of each flavor. The value comes from the capacity file (capacity.auto.tfvars.json), which the controller writes."
  type        = map(number)
}

variable "ssh_public_key" {
  description = "OpenSSH public key that may log in to the nodes. The controller passes it as TF_VAR_ssh_public_key."
  type        = string
}

variable "max_retries" {
  description = "How many times the provider repeats a failed call to the AWS API."
  type        = number
  default     = 8
}

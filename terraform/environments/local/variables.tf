variable "capacity" {
  description = "Nodes of each flavor: the content of capacity.auto.tfvars.json, which the controller writes."
  type        = map(number)
}

variable "ssh_public_key" {
  description = "OpenSSH public key that may log in to the nodes; the controller hands it over as TF_VAR_ssh_public_key."
  type        = string
}

variable "max_retries" {
  description = "How often a failed call to the API is tried again. Few times: the local cloud either runs or does not."
  type        = number
  default     = 2
}

variable "instance_credentials" {
  description = "Whether the provider takes its credentials from the metadata service of an instance: on the head, where the controller sets TF_VAR_instance_credentials."
  type        = bool
  default     = false
}

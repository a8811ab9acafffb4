variable "ssh_public_key" {
  description = "OpenSSH public key that may log in to the nodes."
  type        = string
}

variable "ssh_public_key" {
  description = "OpenSSH public key that may log in."
  type        = string
}

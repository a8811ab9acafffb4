# A machine image that has everything of a node but the run: the system packages, and the Python environment from the wheelhouse. The
# same Ansible roles make it that prepare a node. Nodes of this image are ready sooner, and need no package mirror at boot.
# `make image` runs this file with Packer and names the image that environments' main.tf can take (image.owner = "self").
packer {
  required_version = ">= 1.9.0"

  required_plugins {
    amazon = {
      source  = "github.com/hashicorp/amazon"
      version = "1.3.3"
    }
    ansible = {
      source  = "github.com/hashicorp/ansible"
      version = "1.1.2"
    }
  }
}

variable "region" {
  type    = string
  default = "us-east-1"
}

variable "base_owner" {
  type    = string
  default = "136693071363" # Debian
}

variable "base_name" {
  type        = string
  description = "Name of the image that this one is made from; a pattern takes the newest one that matches."
  default     = "debian-12-amd64-*"
}

variable "login_user" {
  type    = string
  default = "admin"
}

variable "instance_type" {
  type    = string
  default = "c5.large"
}

variable "subnet_id" {
  type        = string
  description = "Subnet in which the image is made, for accounts without a default VPC. Its way to the internet has to reach Debian's package mirrors."
  default     = ""
}

variable "public_address" {
  type        = bool
  description = "Whether the machine gets a public address in subnet_id. Without one this machine has to reach its private address."
  default     = true
}

variable "ssh_from" {
  type        = list(string)
  description = "Ranges of addresses that may open SSH to the machine while the image is made."
  default     = ["0.0.0.0/0"]
}

variable "system_packages" {
  type        = list(string)
  description = "What environments' main.tf names as system_packages."
  default     = ["libgomp1", "libquadmath0"]
}

variable "archive" {
  type        = string
  description = "Archive of the wheelhouse on this machine."
}

variable "wheelhouse" {
  type        = string
  description = "For which nodes the wheelhouse is, as JSON: digest, python, machine and glibc."
}

variable "digest" {
  type        = string
  description = "Digest of the wheelhouse, which names the image."
}

variable "ansible" {
  type        = string
  description = "Folder of the playbooks and roles."
}

source "amazon-ebs" "node" {
  region        = var.region
  instance_type = var.instance_type
  ami_name      = "centavo-${substr(var.digest, 0, 12)}-{{timestamp}}"
  ssh_username  = var.login_user

  # Nothing but the subnet is named: Packer asks EC2 for its VPC. In the default VPC every machine has a public address.
  subnet_id                             = var.subnet_id
  associate_public_ip_address           = var.subnet_id == "" ? null : var.public_address
  temporary_security_group_source_cidrs = var.ssh_from

  source_ami_filter {
    owners      = [var.base_owner]
    most_recent = true

    filters = {
      name                = var.base_name
      architecture        = "x86_64"
      root-device-type    = "ebs"
      virtualization-type = "hvm"
    }
  }

  metadata_options {
    http_endpoint               = "enabled"
    http_tokens                 = "required"
    http_put_response_hop_limit = 1
  }
  imds_support = "v2.0"

  launch_block_device_mappings {
    device_name           = "/dev/xvda"
    volume_size           = 8
    volume_type           = "gp3"
    iops                  = 3000 # What a gp3 volume has anyway. Packer 1.6 refuses a gp3 volume without the two numbers.
    throughput            = 125
    encrypted             = true
    delete_on_termination = true
  }

  tags = {
    Project              = "centavo"
    "centavo:wheelhouse" = var.digest
  }
}

build {
  sources = ["source.amazon-ebs.node"]

  provisioner "file" {
    source      = var.archive
    destination = "/tmp/wheelhouse.tar"
  }

  provisioner "ansible" {
    playbook_file = "${var.ansible}/playbooks/image.yml"
    user          = var.login_user
    use_proxy     = false

    ansible_env_vars = ["ANSIBLE_CONFIG=${var.ansible}/ansible.cfg"]

    extra_arguments = [
      "--extra-vars",
      jsonencode({
        packages   = var.system_packages
        wheelhouse = jsondecode(var.wheelhouse)
        archive    = "/tmp/wheelhouse.tar"
      }),
    ]
  }

  # The nodes of this image boot for the first time: cloud-init runs anew, and each makes host keys of its own.
  provisioner "shell" {
    inline = [
      "sudo cloud-init clean --logs",
      "sudo rm -f /etc/ssh/ssh_host_*",
      "rm -f ~/.config/centavo/outside ~/.ssh/authorized_keys ~/.bash_history /tmp/wheelhouse.tar",
      "sudo truncate --size 0 /etc/machine-id",
    ]
  }
}

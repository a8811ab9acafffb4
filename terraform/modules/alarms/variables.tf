variable "name" {
  description = "Name of the cluster. The names of the alarms and of the topic begin with it."
  type        = string
}

variable "email" {
  description = "Address that the alarms are mailed to. AWS mails a link there first, which has to be opened."
  type        = string

  validation {
    condition     = can(regex("^[^@\\s]+@[^@\\s]+\\.[^@\\s]+$", var.email))
    error_message = "email is ${jsonencode(var.email)}, which is no address. Give one such as \"team@example.com\"."
  }
}

variable "groups" {
  description = "Name of the Auto Scaling group of each flavor. The groups must tell CloudWatch how many instances they have."
  type        = map(string)

  validation {
    condition     = length(var.groups) >= 1 && length(var.groups) <= 99
    error_message = "groups has ${length(var.groups)} flavors. One alarm watches 1 to 99 of them: name fewer flavors."
  }
}

variable "no_progress_s" {
  description = "Number of seconds without a step after which an alarm is mailed."
  type        = number
  default     = 1800

  validation {
    condition     = var.no_progress_s >= 60
    error_message = "no_progress_s is ${var.no_progress_s}. Give at least 60: the metrics come once a minute."
  }
}

variable "budget_percent" {
  description = "Share of its budget in percent after which a run is mailed."
  type        = number
  default     = 80

  validation {
    condition     = var.budget_percent > 0 && var.budget_percent <= 100
    error_message = "budget_percent is ${var.budget_percent}. Give a number above 0 and at most 100."
  }
}

variable "orphan_periods" {
  description = "Number of periods of five minutes without a controller after which running workers are mailed."
  type        = number
  default     = 4

  validation {
    condition     = var.orphan_periods >= 1 && floor(var.orphan_periods) == var.orphan_periods
    error_message = "orphan_periods is ${var.orphan_periods}. Give a whole number, at least 1."
  }
}

variable "tags" {
  description = "Tags of every resource."
  type        = map(string)
  default     = {}
}

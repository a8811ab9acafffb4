variable "groups" {
  description = "What shall run: instance type, market (on-demand or spot) and number of nodes of each group."
  type = list(object({
    flavor = string
    market = string
    nodes  = number
  }))

  validation {
    condition     = alltrue([for group in var.groups : contains(["on-demand", "spot"], group.market)])
    error_message = "The market of each group must be \"on-demand\" or \"spot\"."
  }

  validation {
    condition     = alltrue([for group in var.groups : group.nodes >= 0])
    error_message = "The number of nodes of each group must be 0 or more."
  }
}

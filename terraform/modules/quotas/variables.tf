variable "groups" {
  description = "Groups of nodes that are to run. flavor: EC2 instance type. market: \"on-demand\" or \"spot\". nodes: number of nodes."
  type = list(object({
    flavor = string
    market = string
    nodes  = number
  }))

  validation {
    condition     = alltrue([for group in var.groups : contains(["on-demand", "spot"], group.market)])
    error_message = "groups holds unknown markets: ${join(", ", [for group in var.groups : "${group.flavor} (${group.market})" if !contains(["on-demand", "spot"], group.market)])}. Give \"on-demand\" or \"spot\"."
  }

  validation {
    condition     = alltrue([for group in var.groups : group.nodes >= 0])
    error_message = "groups holds negative numbers of nodes: ${join(", ", [for group in var.groups : "${group.flavor} (${group.nodes})" if group.nodes < 0])}. Give 0 or more."
  }
}

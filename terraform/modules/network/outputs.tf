output "vpc_id" {
  description = "ID of the VPC."
  value       = aws_vpc.this.id
}

output "private_subnet_ids" {
  description = "IDs of the private subnets, by availability zone."
  value       = { for zone, subnet in aws_subnet.private : zone => subnet.id }

  # A node downloads packages at its first boot, so its routes must exist before it starts.
  depends_on = [aws_route.private, aws_route_table_association.private]
}

output "nat_gateway_ids" {
  description = "IDs of the NAT gateways, in the order of their zones."
  value       = [for zone in local.nat_zones : aws_nat_gateway.this[zone].id]
}

output "public_subnet_ids" {
  description = "IDs of the public subnets, by availability zone."
  value       = { for zone, subnet in aws_subnet.public : zone => subnet.id }

  depends_on = [aws_route.public, aws_route_table_association.public]
}

output "vpc_id" {
  description = "ID of the VPC."
  value       = aws_vpc.this.id
}

output "private_subnet_ids" {
  description = "ID of the private subnet of each zone, by zone."
  value       = { for zone, subnet in aws_subnet.private : zone => subnet.id }

  # A node needs its ways out from its first minute on.
  depends_on = [aws_route.private, aws_route_table_association.private]
}

output "public_subnet_ids" {
  description = "ID of the public subnet of each zone, by zone."
  value       = { for zone, subnet in aws_subnet.public : zone => subnet.id }

  depends_on = [aws_route.public, aws_route_table_association.public]
}

"""Corrections of network interfaces, security groups, flow logs and NAT gateways."""

from __future__ import annotations

from typing import Any

from moto.ec2.models import EC2Backend
from moto.ec2.models.elastic_network_interfaces import NetworkInterface
from moto.ec2.models.nat_gateways import NatGateway
from moto.ec2.models.security_groups import SecurityGroupRule

from localcloud.api.patches.replace import replace


def correct_network() -> None:
    """Applies all corrections of the network."""
    leave_out_empty_associations()
    keep_descriptions_of_security_group_rules()
    take_interval_of_flow_logs_as_number()
    delete_interfaces_of_nat_gateways()


def leave_out_empty_associations() -> None:
    """Leaves out an interface's empty association.

    The provider takes it for a public address, and replaces the instance to remove that address.
    """
    association = NetworkInterface.association.fget  # type: ignore[attr-defined]
    replace(NetworkInterface, "association", property(lambda interface: association(interface) or None))


def keep_descriptions_of_security_group_rules() -> None:
    """Keeps the description of every rule. moto keeps it only for a rule with a CIDR block."""
    create = SecurityGroupRule.__init__

    def create_with_description(rule: SecurityGroupRule, *args: Any, **options: Any) -> None:
        create(rule, *args, **options)
        prefixes = options.get("prefix_list_id") or (args[7] if len(args) > 7 else None) or {}
        rule.prefix_list_description = prefixes.get("Description")  # type: ignore[attr-defined]

    def description(rule: Any) -> str | None:
        found: str | None = rule.ip_range.get("Description") or rule.source_group.get("Description")
        return found or getattr(rule, "prefix_list_description", None)

    replace(SecurityGroupRule, "__init__", create_with_description)
    replace(SecurityGroupRule, "description", property(description))


def take_interval_of_flow_logs_as_number() -> None:
    """Accepts the interval of a flow log. moto compares the number with strings, and so refuses every interval."""
    create = EC2Backend.create_flow_logs

    def create_flow_logs(ec2: EC2Backend, *args: Any, **options: Any) -> Any:
        if options.get("max_aggregation_interval") is not None:
            options["max_aggregation_interval"] = str(options["max_aggregation_interval"])
        return create(ec2, *args, **options)

    replace(EC2Backend, "create_flow_logs", create_flow_logs)


def delete_interfaces_of_nat_gateways() -> None:
    """Deletes the interface of a deleted NAT gateway and frees its address, as EC2 does. moto leaves both."""
    delete = EC2Backend.delete_nat_gateway

    def delete_nat_gateway(ec2: EC2Backend, nat_gateway_id: str) -> NatGateway:
        gateway = delete(ec2, nat_gateway_id)
        interface = gateway._eni.id
        for address in ec2.addresses:
            if getattr(address.eni, "id", None) == interface:
                ec2.disassociate_address(association_id=address.association_id)
        ec2.delete_network_interface(interface)
        return gateway

    replace(EC2Backend, "delete_nat_gateway", delete_nat_gateway)

"""Answers of moto 5.1 that differ from EC2's so that Terraform's AWS provider (5.100) trips over them, put right."""

from __future__ import annotations

from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.models import EC2Backend
from moto.ec2.models.elastic_network_interfaces import NetworkInterface
from moto.ec2.models.instances import Instance
from moto.ec2.models.launch_templates import LaunchTemplate
from moto.ec2.models.nat_gateways import NatGateway
from moto.ec2.models.security_groups import SecurityGroupRule
from moto.ec2.responses import EC2Response
from moto.s3.models import FakeDeleteMarker
from moto.s3.responses import S3Response


def correct_moto() -> None:
    """Apply all corrections. Once per process."""
    _hide_interfaces_of_the_terminated()
    _leave_out_empty_associations()
    _end_the_pages_of_credit_specifications()
    _keep_the_tags_of_launch_templates_apart()
    _keep_the_descriptions_of_security_group_rules()
    _take_the_interval_of_flow_logs_as_a_number()
    _answer_for_uefi_data()
    _end_nat_gateways_with_their_interfaces()
    _let_delete_markers_go()
    _say_the_least_size_of_lifecycle_rules()


def replace(owner: type, name: str, value: object) -> None:
    """Set an attribute of one of moto's classes."""
    setattr(owner, name, value)


def _hide_interfaces_of_the_terminated() -> None:
    """An instance without interfaces has no addresses; moto's properties would fail."""

    def of_first_interface(name: str) -> property:
        return property(lambda instance: getattr(instance.nics[0], name) if 0 in instance.nics else None)

    dns_name = Instance.private_dns_name.fget  # type: ignore[attr-defined]
    for name in ("private_ip", "private_ip_address"):
        replace(Instance, name, of_first_interface("private_ip_address"))
    for name in ("public_ip", "public_ip_address"):
        replace(Instance, name, of_first_interface("public_ip"))
    replace(Instance, "private_dns_name", property(lambda instance: dns_name(instance) if instance.nics else ""))
    # It gives the addresses of a collected instance back once more, when another one may have them.
    replace(Instance, "__del__", lambda instance: None)


def _leave_out_empty_associations() -> None:
    """The provider reads an empty association as a public address, and replaces the instance to be rid of it."""
    association = NetworkInterface.association.fget  # type: ignore[attr-defined]
    replace(NetworkInterface, "association", property(lambda interface: association(interface) or None))


def _end_the_pages_of_credit_specifications() -> None:
    """moto says at every page that there is a next one, and the provider asks for ever."""

    def describe_instance_credit_specifications(response: EC2Response) -> ActionResult:
        instances = response.ec2_backend.describe_instance_credit_specifications(response._get_param("InstanceIds", []))
        burstable = [instance for instance in instances if instance.instance_type.startswith("t")]
        return ActionResult(
            {
                "InstanceCreditSpecifications": [
                    {"InstanceId": instance.id, "CpuCredits": _default_credits(instance.instance_type)}
                    for instance in burstable
                ]
            }
        )

    replace(EC2Response, "describe_instance_credit_specifications", describe_instance_credit_specifications)


def _default_credits(flavor: str) -> str:
    return "standard" if flavor.startswith("t2.") else "unlimited"


def _keep_the_tags_of_launch_templates_apart() -> None:
    """A template's own tags are not among what it launches, and change with CreateTags."""
    create = EC2Backend.create_launch_template

    def create_launch_template(
        ec2: EC2Backend, name: str, description: str, data: dict[str, Any], tags: dict[str, Any]
    ) -> LaunchTemplate:
        kept = [entry for entry in data.get("TagSpecifications", []) if entry["ResourceType"] != "launch-template"]
        own = {key: value for key, value in data.items() if key != "TagSpecifications"}
        return create(ec2, name, description, {**own, "TagSpecifications": kept} if kept else own, tags)

    def ignore(template: LaunchTemplate, value: object) -> None:
        """moto keeps a copy from the creation; the tags are looked up instead."""

    replace(EC2Backend, "create_launch_template", create_launch_template)
    replace(LaunchTemplate, "tags", property(LaunchTemplate.get_tags, ignore))


def _keep_the_descriptions_of_security_group_rules() -> None:
    """moto keeps the description of a rule with a CIDR only; one with a group or a prefix list has one too."""

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


def _take_the_interval_of_flow_logs_as_a_number() -> None:
    """moto compares it with texts, and so refuses every interval that is given."""
    create = EC2Backend.create_flow_logs

    def create_flow_logs(ec2: EC2Backend, *args: Any, **options: Any) -> Any:
        if options.get("max_aggregation_interval") is not None:
            options["max_aggregation_interval"] = str(options["max_aggregation_interval"])
        return create(ec2, *args, **options)

    replace(EC2Backend, "create_flow_logs", create_flow_logs)


def _answer_for_uefi_data() -> None:
    """The provider asks for it with every image; moto answers with an internal error, which is tried again."""

    def get_instance_uefi_data(response: EC2Response) -> ActionResult:
        instance_id = response._get_param("InstanceId")
        response.ec2_backend.get_instance(instance_id)
        return ActionResult({"InstanceId": instance_id, "UefiData": ""})

    replace(EC2Response, "get_instance_uefi_data", get_instance_uefi_data)


def _end_nat_gateways_with_their_interfaces() -> None:
    """moto leaves the interface of a NAT gateway that was deleted; on EC2 it and its hold on the address go with it."""
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


def _let_delete_markers_go() -> None:
    """A bucket that was versioned once is emptied before it is destroyed; moto fails at the markers in it."""
    replace(FakeDeleteMarker, "dispose", lambda marker, garbage=False: None)


LEAST_SIZE = {"x-amz-transition-default-minimum-object-size": "all_storage_classes_128K"}
"""S3's default, in a header of its answer."""


def _say_the_least_size_of_lifecycle_rules() -> None:
    """The provider waits until this header is what it has sent; moto leaves it out (getmoto/moto issues 9708, 9729)."""
    get = S3Response.get_bucket_lifecycle

    def get_bucket_lifecycle(response: S3Response) -> Any:
        answer = get(response)
        return answer if isinstance(answer, tuple) else (200, dict(LEAST_SIZE), answer)

    replace(S3Response, "get_bucket_lifecycle", get_bucket_lifecycle)

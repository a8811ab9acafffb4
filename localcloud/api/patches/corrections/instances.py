"""Corrections of instances."""

from __future__ import annotations

from moto.core.responses import ActionResult
from moto.ec2.models.instances import Instance
from moto.ec2.responses import EC2Response

from localcloud.api.patches.replace import replace


def correct_instances() -> None:
    """Applies all corrections of instances."""
    hide_interfaces_of_terminated_instances()
    end_pages_of_credit_specifications()
    answer_uefi_data()


def hide_interfaces_of_terminated_instances() -> None:
    """Gives an instance without interfaces no addresses. moto's properties would fail."""

    def of_first_interface(name: str) -> property:
        return property(lambda instance: getattr(instance.nics[0], name) if 0 in instance.nics else None)

    dns_name = Instance.private_dns_name.fget  # type: ignore[attr-defined]
    for name in ("private_ip", "private_ip_address"):
        replace(Instance, name, of_first_interface("private_ip_address"))
    for name in ("public_ip", "public_ip_address"):
        replace(Instance, name, of_first_interface("public_ip"))
    replace(Instance, "private_dns_name", property(lambda instance: dns_name(instance) if instance.nics else ""))
    # moto's `__del__` frees the addresses of an instance once more, when another instance may have them.
    replace(Instance, "__del__", lambda instance: None)


def end_pages_of_credit_specifications() -> None:
    """Ends the list of credit specifications. moto names a next page on every page, so the provider asks forever."""

    def describe_instance_credit_specifications(response: EC2Response) -> ActionResult:
        instances = response.ec2_backend.describe_instance_credit_specifications(response._get_param("InstanceIds", []))
        burstable = [instance for instance in instances if instance.instance_type.startswith("t")]
        specifications = [
            {"InstanceId": instance.id, "CpuCredits": _default_credits(instance.instance_type)}
            for instance in burstable
        ]
        return ActionResult({"InstanceCreditSpecifications": specifications})

    replace(EC2Response, "describe_instance_credit_specifications", describe_instance_credit_specifications)


def answer_uefi_data() -> None:
    """Answers GetInstanceUefiData, which the provider calls for every image. moto answers with an internal error."""

    def get_instance_uefi_data(response: EC2Response) -> ActionResult:
        instance_id = response._get_param("InstanceId")
        response.ec2_backend.get_instance(instance_id)
        return ActionResult({"InstanceId": instance_id, "UefiData": ""})

    replace(EC2Response, "get_instance_uefi_data", get_instance_uefi_data)


def _default_credits(flavor: str) -> str:
    return "standard" if flavor.startswith("t2.") else "unlimited"

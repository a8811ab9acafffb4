"""What Terraform has made."""

from __future__ import annotations

from typing import Protocol

from controller.domain.errors import CentavoError
from controller.edges.terraform import Outputs


class OutputsPort(Protocol):
    """The part of `edges.terraform.Terraform` that is used here."""

    def outputs(self) -> Outputs | None: ...


class Made:
    """What Terraform has made in one environment, read when it is first needed."""

    def __init__(self, terraform: OutputsPort, environment: str) -> None:
        self._terraform, self._environment = terraform, environment
        self._outputs: Outputs | None = None

    @property
    def known(self) -> Outputs | None:
        """What was read so far; None before it was needed."""
        return self._outputs

    @property
    def outputs(self) -> Outputs:
        """What Terraform has made. Raises CentavoError before the first apply."""
        if self._outputs is None:
            self._outputs = self._terraform.outputs()
        if self._outputs is None:
            raise CentavoError(f"The environment {self._environment} is not up.", "Run `centavo apply` first.")
        return self._outputs

    @property
    def is_anything(self) -> bool:
        """Whether Terraform has made the environment. What can't be read counts as nothing."""
        try:
            return self.outputs is not None
        except CentavoError:
            return False

    @property
    def group_flavors(self) -> dict[str, str]:
        """By Auto Scaling group its flavor."""
        return {output.autoscaling_group: flavor for flavor, output in self.outputs.flavors.items()}

    @property
    def max_nodes(self) -> dict[str, int]:
        """By flavor the most nodes that Terraform allows."""
        return {flavor: output.max_nodes for flavor, output in self.outputs.flavors.items()}

    def forget(self) -> None:
        """Reads everything anew when it is next needed: after an apply."""
        self._outputs = None

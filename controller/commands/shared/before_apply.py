"""What is checked before an apply buys anything."""

from __future__ import annotations

from controller.config.environment import Environment
from controller.edges.session_manager import require_session_programs
from controller.edges.terraform_plan import Plan


def check_before_apply(environment: Environment, plan: Plan) -> None:
    """Checks that the controller can reach what the plan makes.

    Raises:
        CentavoError: The head will have no public address, and this machine cannot open sessions of Systems Manager.
    """
    if environment.settings.ssh.jump_through_head and plan.has_private_head:
        require_session_programs()

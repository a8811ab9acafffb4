"""Corrections of Lambda."""

from __future__ import annotations

from typing import Any

from moto.awslambda.models import LambdaFunction

from localcloud.api.patches.replace import replace

LOGGING = "LoggingConfig"


def correct_functions() -> None:
    """Applies all corrections of Lambda."""
    tell_where_functions_log()


def tell_where_functions_log() -> None:
    """Keeps where a function logs, and tells it. moto forgets it, and each plan of Terraform would show a change."""
    begin, get, update = LambdaFunction.__init__, LambdaFunction.get_configuration, LambdaFunction.update_configuration

    def keep(function: LambdaFunction, spec: dict[str, Any]) -> None:
        if spec.get(LOGGING):
            vars(function)[LOGGING] = dict(spec[LOGGING])

    def __init__(function: LambdaFunction, account_id: str, spec: dict[str, Any], *rest: Any, **named: Any) -> None:  # noqa: N807
        begin(function, account_id, spec, *rest, **named)
        keep(function, spec)

    def get_configuration(function: LambdaFunction, on_create: bool = False) -> dict[str, Any]:
        usual = {"LogFormat": "Text", "LogGroup": f"/aws/lambda/{function.function_name}"}
        return {**get(function, on_create), LOGGING: {**usual, **vars(function).get(LOGGING, {})}}

    def update_configuration(function: LambdaFunction, config_updates: dict[str, Any]) -> dict[str, Any]:
        keep(function, config_updates)
        answer: dict[str, Any] = update(function, config_updates)
        return answer

    replace(LambdaFunction, "__init__", __init__)
    replace(LambdaFunction, "get_configuration", get_configuration)
    replace(LambdaFunction, "update_configuration", update_configuration)

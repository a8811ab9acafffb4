"""`fault`: makes something fail, shows what fails, and ends that."""

from __future__ import annotations

import argparse
import json
from typing import Any

from localcloud.commands.client import RequestRefusedError, ask
from localcloud.commands.exit_status import BAD_CONFIG, FAILED, NOT_RUNNING, OK, fail
from localcloud.state import StateDir

AT_INSTANCE = {
    "hang-ssh": "its SSH server accepts connections and never answers",
    "freeze": "all its processes stop, and its SSH server hangs",
    "fill-disk": "its processes can write no file",
    "partition": "its connections with all others, or with one instance, are cut",
}
AT_ONCE = {
    "reboot": "restart it",
    "replace": "let its Auto Scaling group end it as unhealthy, and launch another one",
    "interrupt": "announce a spot interruption, and carry it out",
    "rebalance": "recommend to replace it, as EC2 does where its spot pool becomes scarce",
}


TOLD = {
    "interrupt": "{instance_id} is interrupted at {time}",
    "rebalance": "EC2 recommends to replace {instance_id}, since {time}",
    "replace": "{instance_id} is unhealthy; {group} replaces it",
    "reboot": "{instance_id} reboots",
}
"""What is said of a fault that happens at once."""


def fault(options: argparse.Namespace, state: StateDir) -> int:
    """Runs the command, and returns its exit status."""
    running = state.running()
    if running is None:
        return fail(NOT_RUNNING, f"it is not running here ({state.path}); `python -m localcloud up` starts it")
    action, request = _request(options)
    try:
        answer = ask(state, running.settings, action, request)
    except RequestRefusedError as error:
        return fail(BAD_CONFIG, error)
    except OSError as error:
        return fail(FAILED, f"{running.settings.endpoint} does not answer: {error}. Its log is {state.log}")
    if getattr(options, "json", False):
        print(json.dumps(answer, indent=2))
    else:
        print(_text(options, answer))
    return OK


def _request(options: argparse.Namespace) -> tuple[str, dict[str, Any] | None]:
    """Returns the action of the control API, and what is posted to it."""
    kind = options.fault
    if kind == "list":
        return "faults", None
    if kind == "clear":
        return "clear", {} if options.number is None else {"number": options.number}
    if kind == "thaw":
        return "clear", {"kind": "freeze", "target": options.instance}
    if kind == "interrupt":
        return "interrupt", _given(instance_id=options.instance, in_s=options.in_s)
    if kind in AT_ONCE:
        return kind, {"instance_id": options.instance}
    return "fault", _given(
        kind=kind,
        target=getattr(options, "target", None) or getattr(options, "instance", None),
        for_s=options.for_s,
        other=getattr(options, "other", None),
        seconds=getattr(options, "seconds", None),
        times=getattr(options, "times", None),
    )


def _given(**entries: Any) -> dict[str, Any]:
    return {name: value for name, value in entries.items() if value is not None}


def _text(options: argparse.Namespace, answer: dict[str, Any]) -> str:
    if options.fault == "list":
        return "\n".join(_line(one) for one in answer["faults"]) or "no faults"
    if options.fault in ("clear", "thaw"):
        return "\n".join(f"ended: {_line(one)}" for one in answer["cleared"]) or "there was no fault to end"
    if options.fault in TOLD:
        return TOLD[options.fault].format(**answer)
    return f"in force: {_line(answer)}"


def _line(one: dict[str, Any]) -> str:
    words = [str(one["number"]), one["kind"], one.get("target", "")]
    words += [f"from {one['from']}"] if "from" in one else []
    words += [f"{one['seconds']:g} s"] if "seconds" in one else []
    words += [f"{one['times_left']} times"] if "times_left" in one else []
    words += [f"(for {one['ends_in_s']:g} s more)"] if "ends_in_s" in one else []
    return " ".join(word for word in words if word)


def add_fault_parser(commands: Any, common: argparse.ArgumentParser) -> None:
    """Adds the command, with a subcommand for each fault."""
    parser = commands.add_parser(
        "fault", help="make something fail, to rehearse it", description="Makes something fail, and ends that again."
    )
    faults = parser.add_subparsers(required=True, metavar="FAULT", dest="fault")

    def add(name: str, text: str, lasts: bool = True) -> argparse.ArgumentParser:
        one: argparse.ArgumentParser = faults.add_parser(name, parents=[common], help=text, description=text)
        one.add_argument("--json", action="store_true", help="print the answer as JSON")
        if lasts:
            one.add_argument("--for", dest="for_s", type=float, metavar="SECONDS", help="end it after this time")
        return one

    add("list", "show the faults in force", lasts=False)
    clear = add("clear", "end a fault, or all", lasts=False)
    clear.add_argument("number", type=int, nargs="?", metavar="NUMBER", help="the number that `list` shows")
    for name, text in AT_INSTANCE.items():
        add(name, text).add_argument("instance", metavar="INSTANCE")
    faults.choices["partition"].add_argument("--from", dest="other", metavar="INSTANCE", help="the only other side")
    add("thaw", "let a frozen instance go on", lasts=False).add_argument("instance", metavar="INSTANCE")
    for name, text in AT_ONCE.items():
        add(name, text, lasts=False).add_argument("instance", metavar="INSTANCE")
    faults.choices["interrupt"].add_argument("--in", dest="in_s", type=float, metavar="SECONDS", help="when")
    throttle = add("throttle", "refuse requests as AWS does when there are too many")
    throttle.add_argument("target", nargs="?", metavar="SERVICE", help="such as ec2; all without it")
    throttle.add_argument("--times", type=int, metavar="N", help="how many requests")
    add("s3-down", "answer requests to S3 with 503")
    add("no-capacity", "let no more instances of a type start").add_argument("target", metavar="TYPE")
    add("slow-api", "answer each request late").add_argument("seconds", type=float, metavar="SECONDS")

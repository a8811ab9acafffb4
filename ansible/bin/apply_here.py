"""Applies this bundle's roles to the node that it lies on, over a local connection.

`terraform/templates/boot_bundle.py` runs it, and gives it as JSON on standard input what `variables.json` has, with a
URL for each file in the bucket, and with `here`: id, address and flavor of this instance. Ansible itself comes with
the environment that the roles use. Where that comes from a wheelhouse, it is installed first, by the code of the role.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ANSIBLE = Path(__file__).resolve().parents[1]
BUNDLE = ANSIBLE.parent
PLAYBOOK = ANSIBLE / "playbooks" / "prepare.yml"
OF_THE_RUN = {"training_config": "training.yml", "package": "trainer.zip"}
"""The variables that name files of the run, and the names of these files in the bundle."""


def environment_made(centavo: dict[str, Any], packages: list[dict[str, Any]]) -> str:
    """Returns the Python of the node's environment, which is made from the wheelhouse where it is missing.

    Raises:
        wheels.WheelsError: The wheelhouse can't be installed.
        fetched.FetchError: It can't be fetched.
    """
    sys.path.insert(0, str(ANSIBLE / "library"))
    import fetched  # noqa: PLC0415
    import wheels  # noqa: PLC0415

    python, house = os.path.expanduser(centavo["python"]), centavo["wheelhouse"]
    if house is None:
        return python
    made_for = house["made_for"]
    mark, stamp = wheels.stamp_of(python, made_for)
    if not (wheels.is_noted(mark, stamp) and Path(python).exists()):
        if reason := wheels.misfit(made_for):
            raise wheels.WheelsError(reason)
        archive = Path(centavo["root"]).expanduser() / "wheelhouse.tar"
        fetched.fetch(house["url"], archive, house["sha256"], house["size"])
        wheels.install(archive, python, made_for, packages)
    return python


def inventory(head: dict[str, Any], here: dict[str, Any]) -> dict[str, Any]:
    """Returns an inventory with the head, which is only looked up, and this node."""
    own = {**here, "ansible_connection": "local"}
    groups = {"head": {head["instance_id"]: head}, "workers": {here["instance_id"]: own}}
    return {"all": {"children": {name: {"hosts": hosts} for name, hosts in groups.items()}}}


def main() -> int:
    """Applies the bundle. Returns the exit code of Ansible, or 1."""
    given = json.load(sys.stdin)
    centavo = {**given["centavo"], **{name: str(BUNDLE / file) for name, file in OF_THE_RUN.items()}}
    try:
        python = environment_made(centavo, given["packages"])
    except Exception as error:  # of the modules, which are imported late
        print(f"the node's Python environment can't be made: {error}", flush=True)
        return 1
    with tempfile.TemporaryDirectory() as folder:
        hosts, variables = Path(folder, "inventory.json"), Path(folder, "variables.json")
        hosts.write_text(json.dumps(inventory(given["head"], given["here"])))
        variables.touch(mode=0o600)  # the URLs in it are signed
        variables.write_text(json.dumps({"centavo": centavo, "head_key": given["head_key"]}))
        options = ["--inventory", str(hosts), "--extra-vars", f"@{variables}", "--limit", given["here"]["instance_id"]]
        environment = {**os.environ, "ANSIBLE_CONFIG": str(ANSIBLE / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1"}
        command = [python, "-m", "ansible", "playbook", *options, str(PLAYBOOK)]
        return subprocess.run(command, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())

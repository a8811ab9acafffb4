"""What a machine finds in its root file system at each boot: cloud-init's settings, name server, environment."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

from localcloud.hosts.machine.network.addresses import METADATA, RESOLVER

LOGIN_USER = "admin"
"""The user of Debian's images (https://wiki.debian.org/Cloud/AmazonEC2Image/Bookworm)."""


def seed(root: Path, environment: Mapping[str, str]) -> None:
    """Writes the files.

    Args:
        root: the root file system.
        environment: the variables of every session and service. PAM gives them to SSH's sessions, systemd to its
            services, and the profile to the login shells of `runuser`, which start no session of PAM's with them.
    """
    for name, text in files(environment).items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)  # it may be a link to a file of the image, or of this machine
        path.write_text(text)


def files(environment: Mapping[str, str]) -> dict[str, str]:
    """Returns the files by their paths in the root file system."""
    variables = [f"{name}={value}" for name, value in environment.items()]
    return {
        "etc/cloud/ds-identify.cfg": "policy: enabled\n",
        "etc/cloud/cloud.cfg.d/99_localcloud.cfg": cloud_config(),
        "etc/resolv.conf": f"nameserver {RESOLVER}\n",
        "etc/environment": "".join(f"{line}\n" for line in variables),
        "etc/systemd/system.conf.d/localcloud.conf": "[Manager]\n"
        + "".join(f'DefaultEnvironment="{line}"\n' for line in variables),
        "etc/profile.d/localcloud.sh": "".join(f"export {shlex.quote(line)}\n" for line in variables),
    }


def cloud_config() -> str:
    """Returns cloud-init's settings: what Debian's image for EC2 has, as far as a machine without a disk needs it.

    `datasource_list` has one entry and stands on one line, because cloud-init's generator takes only that form for a
    decision. Without `locale: false` cloud-init looks for a package that the image does not have.
    """
    return f"""datasource_list: [ Ec2 ]
datasource: {{Ec2: {{strict_id: false, metadata_urls: ["http://{METADATA}"], max_wait: 60, timeout: 5}}}}
network: {{config: disabled}}
locale: false
manage_etc_hosts: localhost
apt: {{preserve_sources_list: true}}
growpart: {{mode: "off"}}
resize_rootfs: false
system_info: {{default_user: {{name: {LOGIN_USER}, gecos: Debian, lock_passwd: true, shell: /bin/bash,
  groups: [adm, sudo], sudo: ["ALL=(ALL) NOPASSWD:ALL"]}}}}
"""

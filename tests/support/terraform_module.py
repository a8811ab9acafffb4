"""One of the project's Terraform modules alone, applied to a localcloud with the real AWS provider."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.support.local_cloud import REPOSITORY, LocalCloud

MAIN = """
terraform {{
  required_providers {{
    aws = {{
      source  = "hashicorp/aws"
      version = "5.100.0"
    }}
  }}
}}

provider "aws" {{ s3_use_path_style = true }}

module "it" {{
  source = "../modules/{name}"
{arguments}
}}
"""


class TerraformModule:
    """A copy of the project's modules, and a configuration that uses one of them.

    Args:
        root: an empty folder.
        cloud: where it is applied.
        name: the module's folder.
        arguments: what the module is given.
    """

    def __init__(self, root: Path, cloud: LocalCloud, name: str, arguments: Mapping[str, object]) -> None:
        ignored = shutil.ignore_patterns(".terraform*", "*.tfstate*", "*.json", "tests", "environments")
        shutil.copytree(REPOSITORY / "terraform", root / "terraform", ignore=ignored)
        self.directory = root / "terraform" / "alone"
        self.directory.mkdir()
        given = "\n".join(f"  {key} = {json.dumps(value)}" for key, value in arguments.items())
        (self.directory / "main.tf").write_text(MAIN.format(name=name, arguments=given))
        self.environment = {**os.environ, **cloud.environment, "TF_IN_AUTOMATION": "1"}
        init = [sys.executable, root / "terraform" / "init", str(self.directory)]
        subprocess.run(init, cwd=root, env=self.environment, check=True, timeout=900)
        if (root / ".centavo" / "terraform.rc").exists():
            self.environment["TF_CLI_CONFIG_FILE"] = str(root / ".centavo" / "terraform.rc")

    def __call__(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs a command of Terraform to its end."""
        return subprocess.run(
            ["terraform", *arguments, "-no-color"], cwd=self.directory, env=self.environment,
            capture_output=True, text=True, timeout=900, check=False,
        )  # fmt: skip

    def apply(self) -> None:
        """Applies the module. Another plan finds nothing to change then."""
        applied = self("apply", "-auto-approve", "-input=false")
        assert applied.returncode == 0, applied.stderr
        again = self("plan", "-detailed-exitcode", "-input=false")
        assert again.returncode == 0, again.stdout + again.stderr

    def destroy(self) -> None:
        """Removes what the module made."""
        destroyed = self("destroy", "-auto-approve", "-input=false")
        assert destroyed.returncode == 0, destroyed.stderr

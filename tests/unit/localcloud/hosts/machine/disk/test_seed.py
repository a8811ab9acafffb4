"""What a machine finds in its root file system."""

from __future__ import annotations

import subprocess
from pathlib import Path

import yaml

from localcloud.hosts.machine.disk.seed import cloud_config, files, seed


def test_cloud_init_asks_ec2s_metadata_and_makes_the_images_user() -> None:
    config = yaml.safe_load(cloud_config())
    assert cloud_config().startswith("datasource_list: [ Ec2 ]\n"), "cloud-init's generator reads one line"
    assert config["datasource"]["Ec2"]["metadata_urls"] == ["http://169.254.169.254"]
    assert config["locale"] is False, "otherwise cloud-init ends in error without the package locales"
    assert config["system_info"]["default_user"]["name"] == "admin"


def test_sessions_and_services_know_where_the_api_answers() -> None:
    found = files({"AWS_ENDPOINT_URL": "http://127.0.0.1:5590"})
    assert found["etc/environment"] == "AWS_ENDPOINT_URL=http://127.0.0.1:5590\n"
    assert (
        'DefaultEnvironment="AWS_ENDPOINT_URL=http://127.0.0.1:5590"'
        in found["etc/systemd/system.conf.d/localcloud.conf"]
    )


def test_a_login_shell_that_no_session_of_pam_gave_variables_knows_them_too(tmp_path: Path) -> None:
    seed(tmp_path, {"AWS_ENDPOINT_URL": "http://127.0.0.1:5590", "NAME": "two words"})
    command = f'. {tmp_path}/etc/profile.d/localcloud.sh; printf "%s|%s" "$AWS_ENDPOINT_URL" "$NAME"'
    done = subprocess.run(["env", "-i", "sh", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout == "http://127.0.0.1:5590|two words"


def test_a_link_in_the_image_does_not_lead_out_of_it(tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("of this machine")
    (tmp_path / "root" / "etc").mkdir(parents=True)
    (tmp_path / "root" / "etc" / "resolv.conf").symlink_to(tmp_path / "outside")
    seed(tmp_path / "root", {})
    assert (tmp_path / "outside").read_text() == "of this machine"
    assert (tmp_path / "root" / "etc" / "resolv.conf").read_text() == "nameserver 169.254.169.253\n"

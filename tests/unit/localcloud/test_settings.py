"""The configuration file and what is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from localcloud.settings import LOOPBACK, Settings, SettingsError, load_settings

REPOSITORY = Path(__file__).parents[3]


def load(tmp_path: Path, text: str) -> Settings:
    path = tmp_path / "localcloud.yml"
    path.write_text(text)
    return load_settings(path)


def test_no_file_gives_the_defaults() -> None:
    assert load_settings(None) == Settings()


def test_an_empty_file_gives_the_defaults(tmp_path: Path) -> None:
    assert load(tmp_path, "# nothing\n") == Settings()


def test_the_shipped_configuration_is_valid_and_leaves_terraform_room() -> None:
    settings = load_settings(REPOSITORY / "terraform" / "environments" / "local" / "localcloud.yml")
    assert settings.prices and settings.prices.is_file()
    assert all(speed <= 0.33 for speed in settings.speeds.values())
    assert sum(settings.speeds.values()) <= 1.2


def test_a_flavor_that_is_not_listed_has_the_default_speed() -> None:
    settings = Settings(speeds={"c5.large": 0.2}, default_speed=0.5)
    assert (settings.speed_of("c5.large"), settings.speed_of("t3.micro")) == (0.2, 0.5)
    assert Settings(speeds={"c5.large": 0.2}).speed_of("t3.micro") is None


def test_prices_are_looked_for_beside_the_file(tmp_path: Path) -> None:
    assert load(tmp_path, "prices: prices.yml\n").prices == tmp_path / "prices.yml"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("speed: {c5.large: 0.2}\n", "speed: unknown entry; known are port, "),
        ("speeds: {c5.large: -0.2}\n", "speeds.c5.large: Input should be greater than 0"),
        ("speeds: {c5.large: fast}\n", "speeds.c5.large: Input should be a valid number"),
        ("port: 70000\n", "port: Input should be less than or equal to 65535"),
        ("port: '80'\n", "port: Input should be a valid integer"),
        ("vpc_cidr: 10.0.0.0/16\n", r"vpc_cidr: must be a slice of 127\.0\.0\.0/8"),
        ("vpc_cidr: 127.0.0.0/8\n", "vpc_cidr: must be a slice"),
        ("vpc_cidr: 127.20.0.1/16\n", "vpc_cidr: not an IPv4 network"),
        ("boot_delay_s: -1\n", "boot_delay_s: Input should be greater than or equal to 0"),
        ("ssh_port: 1338\n", "ssh_port and metadata_port are both 1338"),
        ("fail_boot: {c5.large: maybe}\n", "fail_boot.c5.large: Input should be 'unreachable' or 'terminated'"),
        ("- a\n- list\n", "must hold a mapping"),
        ("port: [\n", "is not YAML"),
    ],
)
def test_a_bad_entry_is_named_with_its_file(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(SettingsError, match=complaint) as error:
        load(tmp_path, text)
    assert "localcloud.yml" in str(error.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"cannot read .*nowhere\.yml: No such file"):
        load_settings(tmp_path / "nowhere.yml")


def test_differences_are_named() -> None:
    assert Settings(port=1).differences(Settings(port=1)) == []
    assert Settings(port=1, speeds={"a": 0.1}).differences(Settings(port=2)) == ["port", "speeds"]


def test_machines_have_private_addresses_and_public_ones_for_documentation(tmp_path: Path) -> None:
    assert load_settings(None).host_range == LOOPBACK
    assert str(load_settings(None, "machine").host_range) == "10.20.0.0/16"
    (tmp_path / "localcloud.yml").write_text("hosts: loopback\nmachines: {private_cidr: 172.16.0.0/16}\n")
    assert str(load_settings(tmp_path / "localcloud.yml", "machine").host_range) == "172.16.0.0/16"


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("private_cidr: 54.0.0.0/16", "must lie in one of the private networks"),
        ("private_cidr: 10.20.0.0/29", "/28 or larger"),
        ("public_cidr: 54.214.0.0/24", "must lie in one of the networks for documentation"),
        ("public_cidr: 198.51.100.7/24", "not an IPv4 network"),
    ],
)
def test_ranges_of_machines_that_somebody_else_may_have_are_refused(tmp_path: Path, entry: str, said: str) -> None:
    (tmp_path / "localcloud.yml").write_text(f"machines: {{{entry}}}\n")
    with pytest.raises(SettingsError, match=said):
        load_settings(tmp_path / "localcloud.yml")

"""The prices of an environment: prices.yml or AWS, negotiated ones over them, followed while they change."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from controller.config.environment import Environment
from controller.config.settings import parse_settings
from controller.domain import Market, Price, head_price
from controller.domain.errors import ConfigError
from controller.domain.prices.price import floor_name
from controller.domain.prices.standing import HOURS_PER_MONTH, VOLUME
from controller.observe.prices.asked import Wanted
from controller.observe.prices.book import PriceBook, open_book
from tests.unit.controller.harness import SETTINGS
from tests.unit.controller.observe.prices.test_asked import NOON, Aws

LIST = "c5.large: 0.085\nt2.large: 0.0928\n"


class Office:
    """An environment's folder, and the book that is kept of its prices."""

    def __init__(self, root: Path, **prices: Any) -> None:
        settings = parse_settings({**SETTINGS, "prices": prices}, str(root / "centavo.yml"))
        self.environment = Environment("test", root, settings)
        self.environment.directory.mkdir(parents=True)
        self.environment.prices_file.write_text(LIST)
        self.told: list[str] = []
        self.aws = Aws()
        self.now = NOON
        self.book: PriceBook = open_book(self.environment, self.aws, lambda: self.now, self.told.append)


def test_prices_yml_is_read_unless_aws_is_named(tmp_path: Path) -> None:
    office = Office(tmp_path)
    assert office.book.of()["c5.large"].source == "file prices.yml"
    assert office.book.usd_per_hour == {"c5.large": 0.085, "t2.large": 0.0928}
    assert office.aws.asked == []


def test_a_change_of_prices_yml_is_taken_up_and_told(tmp_path: Path) -> None:
    office = Office(tmp_path)
    numbers = office.book.usd_per_hour
    office.environment.prices_file.write_text("c5.large: 0.05\nt2.large: 0.0928\n")
    assert office.book.of()["c5.large"].usd_per_hour == 0.05
    assert numbers["c5.large"] == 0.05, "what was handed out follows"
    assert office.told == ["hourly prices have changed: c5.large $0.0850 -> $0.0500"]


def test_a_file_that_is_spoiled_while_the_training_runs_is_told_of_once_and_changes_nothing(tmp_path: Path) -> None:
    office = Office(tmp_path)
    before = office.book.of()
    office.environment.prices_file.write_text("c5.large: free\n")
    assert office.book.of() == office.book.of() == before
    assert len(office.told) == 1 and "the prices stay as they were" in office.told[0]


def test_a_price_that_is_taken_out_while_the_training_runs_stays_as_it_was_and_is_told_of_once(tmp_path: Path) -> None:
    office = Office(tmp_path)
    office.book.of()
    office.environment.prices_file.write_text("c5.large: 0.05\n")
    for _ in range(2):
        assert {name: price.usd_per_hour for name, price in office.book.of().items()} == {
            "c5.large": 0.05,
            "t2.large": 0.0928,
        }
    gone, changed = "no price is listed any more for t2.large: it stays as it was", "c5.large $0.0850 -> $0.0500"
    assert office.told == [gone, f"hourly prices have changed: {changed}"]


def test_a_file_that_is_wrong_from_the_start_is_an_error(tmp_path: Path) -> None:
    office = Office(tmp_path)
    office.environment.prices_file.write_text("c5.large: free\n")
    with pytest.raises(ConfigError, match=r"price of c5\.large is 'free'"):
        office.book.of()


def test_negotiated_prices_take_the_place_of_either_sources(tmp_path: Path) -> None:
    for source, where in (("file", "one"), ("aws", "two")):
        office = Office(tmp_path / where, source=source, override="negotiated.yml")
        (tmp_path / where / "negotiated.yml").write_text("c5.large: 0.06\n")
        wanted = Wanted({"c5.large": Market.SPOT, "t2.large": Market.SPOT}, heads=frozenset({"c5.large"}))
        prices = office.book.of(wanted)
        assert (prices["c5.large"].usd_per_hour, prices["c5.large"].source) == (0.06, "override")
        head = head_price(prices, "c5.large")
        assert head is not None and head.usd_per_hour == 0.06
        assert prices["t2.large"].usd_per_hour == (0.0928 if source == "file" else 0.035)


def test_expected_interruptions_count_with_either_source(tmp_path: Path) -> None:
    for source in ("file", "aws"):
        office = Office(tmp_path / source, source=source, interruptions_per_hour={"t2.large": 0.2})
        prices = office.book.of(Wanted({"t2.large": Market.SPOT}))
        assert prices["t2.large"].interruptions_per_hour == 0.2


@pytest.mark.parametrize("wrong", [{"source": "guess"}, {"refresh_s": 0}, {"interruptions_per_hour": {"a": -1}}])
def test_settings_that_can_not_be_used_are_named(tmp_path: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"prices\."):
        Office(tmp_path, **wrong)


def test_a_book_hands_out_what_it_is_given() -> None:
    assert PriceBook(lambda wanted: {"a": Price("a", 0.1)}).usd_per_hour == {"a": 0.1}


def test_the_volume_of_a_node_is_in_its_price_and_still_is_where_terraform_was_not_asked(tmp_path: Path) -> None:
    office = Office(tmp_path)
    office.environment.prices_file.write_text(LIST + "gp3-gb-month: 0.073\nnat-gateway: 0.045\n")
    assert office.book.of()["c5.large"].usd_per_hour == 0.085
    wanted = Wanted(volume_gb={"c5.large": 100.0})
    assert office.book.of(wanted)["c5.large"].usd_per_hour == pytest.approx(0.095)
    assert office.told == [], "no price has changed"
    assert set(office.book.usd_per_hour) == {"c5.large", "t2.large"}, "what is no instance type is not listed as one"
    later = open_book(office.environment, office.aws, lambda: NOON, office.told.append)
    assert later.usd_per_hour["c5.large"] == pytest.approx(0.095)


def test_a_head_of_a_flavor_keeps_its_price_without_the_volume_of_the_flavors_nodes(tmp_path: Path) -> None:
    office = Office(tmp_path)
    office.environment.prices_file.write_text(LIST + "gp3-gb-month: 0.073\n")
    prices = office.book.of(Wanted(volume_gb={"c5.large": 100.0}, heads=frozenset({"c5.large"})))
    head = head_price(prices, "c5.large")
    assert head is not None and head.usd_per_hour == 0.085
    assert prices["c5.large"].usd_per_hour == pytest.approx(0.095)


def test_the_on_demand_price_of_a_spot_flavors_floor_has_the_volume_too(tmp_path: Path) -> None:
    office = Office(tmp_path, source="aws")
    office.aws.on_demand_usd[VOLUME] = HOURS_PER_MONTH / 1000
    wanted = Wanted({"c5.large": Market.SPOT}, floors=frozenset({"c5.large"}), extras=frozenset({VOLUME}))
    prices = office.book.of(replace(wanted, volume_gb={"c5.large": 100.0}))
    assert prices[floor_name("c5.large")].usd_per_hour == pytest.approx(0.085 + 0.1)
    assert prices["c5.large"].usd_per_hour == pytest.approx(0.03 + 0.1)


def test_the_sizes_of_volumes_are_kept_in_a_file_and_can_not_be_where_the_disk_does_not_take_it(tmp_path: Path) -> None:
    office = Office(tmp_path)
    office.environment.prices_file.write_text(LIST + "gp3-gb-month: 0.073\n")
    file = office.environment.state_directory / "volumes.json"
    for gb, usd_per_hour in ((100.0, 0.095), (200.0, 0.105)):
        assert office.book.of(Wanted(volume_gb={"c5.large": gb}))["c5.large"].usd_per_hour == pytest.approx(
            usd_per_hour
        )
        assert json.loads(file.read_text()) == {"c5.large": gb}
    file.unlink()
    file.mkdir()
    wanted = Wanted(volume_gb={"c5.large": 100.0})
    assert office.book.of(wanted)["c5.large"].usd_per_hour == pytest.approx(0.095)


def test_a_listed_price_expects_no_interruptions_unless_they_are_given(tmp_path: Path) -> None:
    assert Office(tmp_path).book.of()["c5.large"].interruptions_per_hour == 0.0


def test_aws_is_asked_again_after_the_settings_time_and_its_prices_are_cached(tmp_path: Path) -> None:
    office = Office(tmp_path, source="aws", refresh_s=100)
    wanted = Wanted({"c5.large": Market.ON_DEMAND})
    office.book.of(wanted)
    assert (office.environment.state_directory / "prices.json").is_file()
    office.now += 99
    office.book.of(wanted)
    assert len(office.aws.asked) == 1
    office.now += 1
    office.book.of(wanted)
    assert len(office.aws.asked) == 2


def test_people_are_told_which_prices_aws_did_not_tell(tmp_path: Path) -> None:
    office = Office(tmp_path, source="aws")
    office.aws.failing = {"on-demand"}
    office.book.of(Wanted({"c5.large": Market.ON_DEMAND}))
    assert len(office.told) == 1 and "c5.large could not be asked for" in office.told[0]


def test_a_negotiated_price_is_as_old_as_the_look_at_it(tmp_path: Path) -> None:
    office = Office(tmp_path, override="negotiated.yml")
    (tmp_path / "negotiated.yml").write_text("c5.large: 0.06\n")
    assert office.book.of()["c5.large"].fetched_at == NOON

"""Images that are made of stopped instances: pending until the hosts' process has made them, and kept while in use."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws
from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.ec2.models import EC2Backend, ec2_backends

from localcloud.api.ec2.instances import Instances
from localcloud.api.ec2.launch import run_instances
from localcloud.api.ec2.made_images import MadeImages
from localcloud.api.ec2.states import TERMINATED, enter
from localcloud.api.faults.injected import Injected
from localcloud.api.faults.limits import Faults
from localcloud.api.images import DEBIAN_12_ID, add_images
from localcloud.api.patches.images import patch_images
from localcloud.link.image import ImageFiles, ImageSpec, images_in
from localcloud.settings import Settings


class Account:
    """An account with a client, whose instances are moto's: they run and stop at once."""

    def __init__(self, state_dir: Path) -> None:
        self.client: Any = boto3.client(
            "ec2", region_name="us-east-1", aws_access_key_id="test", aws_secret_access_key="test"
        )
        self.backend: EC2Backend = ec2_backends[DEFAULT_ACCOUNT_ID]["us-east-1"]
        add_images(self.backend)
        settings = Settings()
        self.instances = Instances(settings, self.backend, Faults.of(settings), Injected())
        self.images = MadeImages(self.instances, self.backend, state_dir)
        patch_images(self.images)
        self.state_dir = state_dir

    def stopped(self, image: str = DEBIAN_12_ID) -> str:
        """Launches an instance and stops it."""
        answer = self.client.run_instances(ImageId=image, MinCount=1, MaxCount=1, InstanceType="t3.micro")
        instance = str(answer["Instances"][0]["InstanceId"])
        self.instances.adopt(self.backend.get_instance(instance))
        self.client.stop_instances(InstanceIds=[instance])
        return instance

    def made(self, instance: str, name: str = "baked", **entries: Any) -> str:
        """Makes an image of an instance, and the file that the hosts' process would make."""
        image = str(self.client.create_image(InstanceId=instance, Name=name, **entries)["ImageId"])
        files = ImageFiles.of(self.state_dir, image)
        images_in(self.state_dir).mkdir(exist_ok=True)
        files.snapshot.touch()
        self.images.tick()
        return image

    def described(self, image: str) -> dict[str, Any]:
        return dict(self.client.describe_images(ImageIds=[image])["Images"][0])

    def wanted(self) -> list[str]:
        return [spec.image_id for spec in self.images.wanted()]


@pytest.fixture
def account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """An account in a moto of its own."""
    monkeypatch.setattr(EC2Backend, "create_image", EC2Backend.create_image)  # it is replaced; this restores it
    with mock_aws():
        yield Account(tmp_path)


def test_an_image_is_pending_until_its_snapshot_is_there(account: Account) -> None:
    instance = account.stopped()
    image = account.client.create_image(InstanceId=instance, Name="baked")["ImageId"]
    account.images.tick()
    assert account.described(image)["State"] == "pending"
    assert account.images.wanted() == (ImageSpec(image, instance, DEBIAN_12_ID),)
    images_in(account.state_dir).mkdir()
    ImageFiles.of(account.state_dir, image).snapshot.touch()
    account.images.tick()
    assert account.described(image)["State"] == "available"


def test_an_image_is_the_accounts_own_and_else_like_the_one_below(account: Account) -> None:
    own = account.described(account.made(account.stopped()))
    debian = account.described(DEBIAN_12_ID)
    assert (own["Name"], own["OwnerId"]) == ("baked", DEFAULT_ACCOUNT_ID)
    for name in ("Architecture", "VirtualizationType", "Hypervisor", "RootDeviceType", "RootDeviceName", "BootMode"):
        assert own[name] == debian[name]
    assert own["BlockDeviceMappings"][0]["DeviceName"] == "/dev/xvda"
    filters = [{"Name": "name", "Values": ["baked"]}]
    assert len(account.client.describe_images(Owners=["self"], Filters=filters)["Images"]) == 1


def test_an_image_of_an_instance_that_runs_is_refused(account: Account) -> None:
    instance = account.stopped()
    account.client.start_instances(InstanceIds=[instance])
    with pytest.raises(ClientError, match=r"IncorrectInstanceState.*is running.*Stop it") as caught:
        account.client.create_image(InstanceId=instance, Name="baked")
    assert caught.value.response["Error"]["Code"] == "IncorrectInstanceState"
    assert account.images.wanted() == ()


def test_an_image_that_cannot_be_made_says_why(account: Account) -> None:
    image = account.client.create_image(InstanceId=account.stopped(), Name="baked")["ImageId"]
    images_in(account.state_dir).mkdir()
    ImageFiles.of(account.state_dir, image).failed.write_text("No space left on device")
    account.images.tick()
    shown = account.described(image)
    assert (shown["State"], shown["StateReason"]["Message"]) == ("failed", "No space left on device")


def test_image_and_snapshot_get_the_tags_that_the_request_has(account: Account) -> None:
    tags = [{"ResourceType": kind, "Tags": [{"Key": "kind", "Value": kind}]} for kind in ("image", "snapshot")]
    image = account.described(account.made(account.stopped(), TagSpecifications=tags))
    assert image["Tags"] == [{"Key": "kind", "Value": "image"}]
    snapshot = image["BlockDeviceMappings"][0]["Ebs"]["SnapshotId"]
    (shown,) = account.client.describe_snapshots(SnapshotIds=[snapshot])["Snapshots"]
    assert shown["Tags"] == [{"Key": "kind", "Value": "snapshot"}]


def test_a_deregistered_image_goes_when_nothing_is_based_on_it_any_more(account: Account) -> None:
    below = account.made(account.stopped(), "below")
    instance = account.stopped(below)
    above = account.made(instance, "above")
    assert account.images.wanted()[1] == ImageSpec(above, instance, below)
    account.client.deregister_image(ImageId=below)
    enter(account.backend.get_instance(instance), TERMINATED)
    assert account.wanted() == [below, above], "the upper one needs the lower one"
    last = account.stopped(above)
    account.client.deregister_image(ImageId=above)
    assert account.wanted() == [below, above], "an instance needs both"
    enter(account.backend.get_instance(last), TERMINATED)
    assert account.wanted() == []


def test_nothing_is_launched_from_an_image_that_is_not_there(account: Account) -> None:
    image = account.client.create_image(InstanceId=account.stopped(), Name="baked")["ImageId"]

    def launch() -> None:
        run_instances(account.instances, account.backend, image, 1, None, [], instance_type="t3.micro", tags={})

    with pytest.raises(Exception, match=f"The image ID '{image}' is not available"):
        launch()
    account.client.deregister_image(ImageId=image)
    with pytest.raises(Exception, match=f"The image ID '{image}' is not available"):
        launch()

"""What the instance metadata service answers, and to whom."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
from collections.abc import Awaitable, Callable

import aiohttp
import pytest

from localcloud.hosts.metadata import service
from localcloud.hosts.metadata.service import MetadataService
from localcloud.hosts.metadata.tree import document_tree, find
from localcloud.link.spec import HostSpec, RoleSession, SpotNotice
from tests.support.local_cloud import free_port

TTL = "X-aws-ec2-metadata-token-ttl-seconds"
TOKEN = "X-aws-ec2-metadata-token"
SPEC = HostSpec(
    instance_id="i-1",
    flavor="c5.large",
    address="127.0.0.1",
    availability_zone="us-east-1a",
    region="us-east-1",
    account="123456789012",
    image_id="ami-1",
    hostname="ip-127-0-0-1.ec2.internal",
    public_key="ssh-ed25519 AAAA tests\n",
    user_data="#!/bin/bash\n",
    tags={"centavo:role": "worker", "Name": "a"},
    role=RoleSession("node", "2026-11-23T06:00:00Z", "2026-11-23T12:00:00Z", "ASIAEXAMPLE", "secret", "token"),
    tags_in_metadata=True,
)

Asking = Callable[[aiohttp.ClientSession, str], Awaitable[None]]


def serve(spec: HostSpec, asking: Asking) -> None:
    """Runs `asking(session, base URL)` against a service for `spec`."""

    async def run() -> None:
        one, port = MetadataService(spec), free_port()
        await one.start("127.0.0.1", port)
        try:
            async with aiohttp.ClientSession() as session:
                await asking(session, f"http://127.0.0.1:{port}/latest")
        finally:
            await one.stop()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("meta-data/instance-id", "i-1"),
        ("meta-data/instance-type", "c5.large"),
        ("meta-data/local-ipv4", "127.0.0.1"),
        ("meta-data/hostname", "ip-127-0-0-1.ec2.internal"),
        ("meta-data/placement/availability-zone", "us-east-1a"),
        ("meta-data/placement/region", "us-east-1"),
        ("meta-data/public-keys/0/openssh-key", "ssh-ed25519 AAAA tests"),
        ("meta-data/tags/instance", "centavo:role\nName"),
        ("meta-data/tags/instance/centavo:role", "worker"),
        ("meta-data/iam/security-credentials/", "node"),
        ("meta-data/instance-life-cycle", "on-demand"),
        ("meta-data/placement", "availability-zone\nregion"),
        ("user-data", "#!/bin/bash\n"),
    ],
)
def test_each_path_has_its_answer(path: str, answer: str) -> None:
    assert find(document_tree(SPEC), path) == answer


def test_folders_are_listed_with_a_slash() -> None:
    assert "placement/" in (find(document_tree(SPEC), "meta-data/") or "").splitlines()


def test_the_identity_document_tells_account_instance_and_place() -> None:
    document = json.loads(find(document_tree(SPEC), "dynamic/instance-identity/document") or "")
    assert document["accountId"] == "123456789012"
    assert document["instanceId"] == "i-1"
    assert document["region"] == "us-east-1"


def test_a_roles_credentials_are_what_an_sdk_reads() -> None:
    credentials = json.loads(find(document_tree(SPEC), "meta-data/iam/security-credentials/node") or "")
    assert credentials["Code"] == "Success"
    assert (credentials["AccessKeyId"], credentials["SecretAccessKey"]) == ("ASIAEXAMPLE", "secret")
    assert credentials["Token"] == "token"
    assert credentials["Expiration"] == "2026-11-23T12:00:00Z"


@pytest.mark.parametrize(
    "path", ["meta-data/spot/instance-action", "meta-data/public-ipv4", "nothing", "meta-data/instance-id/x"]
)
def test_what_an_instance_does_not_have_is_not_found(path: str) -> None:
    assert find(document_tree(SPEC), path) is None


def test_tags_are_hidden_unless_the_instance_shows_them() -> None:
    assert find(document_tree(dataclasses.replace(SPEC, tags_in_metadata=False)), "meta-data/tags/instance") is None


def test_a_spot_notice_shows_what_and_when() -> None:
    spec = dataclasses.replace(SPEC, spot_notice=SpotNotice("terminate", "2026-11-21T06:00:00Z"))
    notice = find(document_tree(spec), "meta-data/spot/instance-action")
    assert json.loads(notice or "") == {"action": "terminate", "time": "2026-11-21T06:00:00Z"}
    assert find(document_tree(spec), "meta-data/spot/termination-time") == "2026-11-21T06:00:00Z"


def test_a_recommendation_to_replace_an_instance_names_its_time() -> None:
    path = "meta-data/events/recommendations/rebalance"
    assert find(document_tree(SPEC), path) is None
    spec = dataclasses.replace(SPEC, rebalance_at="2026-11-21T06:00:00Z")
    assert json.loads(find(document_tree(spec), path) or "") == {"noticeTime": "2026-11-21T06:00:00Z"}


def test_without_a_token_nothing_is_told_when_imdsv2_is_required() -> None:
    async def asking(session: aiohttp.ClientSession, base: str) -> None:
        for headers in ({}, {TOKEN: "made up"}):
            async with session.get(f"{base}/meta-data/instance-id", headers=headers) as answer:
                assert answer.status == 401
        async with session.put(f"{base}/api/token", headers={TTL: "60"}) as answer:
            token = await answer.text()
        async with session.get(f"{base}/meta-data/instance-id", headers={TOKEN: token}) as answer:
            assert (answer.status, await answer.text()) == (200, "i-1")

    serve(SPEC, asking)


def test_where_tokens_are_optional_the_first_version_answers_too() -> None:
    async def asking(session: aiohttp.ClientSession, base: str) -> None:
        async with session.get(f"{base}/meta-data/instance-id") as answer:
            assert await answer.text() == "i-1"

    serve(dataclasses.replace(SPEC, tokens_required=False), asking)


@pytest.mark.parametrize("headers", [{}, {TTL: "0"}, {TTL: "21601"}, {TTL: "soon"}])
def test_a_token_needs_a_time_to_live_of_at_most_six_hours(headers: dict[str, str]) -> None:
    async def asking(session: aiohttp.ClientSession, base: str) -> None:
        async with session.put(f"{base}/api/token", headers=headers) as answer:
            assert answer.status == 400

    serve(SPEC, asking)


def test_a_token_is_not_given_through_a_proxy() -> None:
    async def asking(session: aiohttp.ClientSession, base: str) -> None:
        headers = {TTL: "60", "X-Forwarded-For": "10.0.0.1"}
        async with session.put(f"{base}/api/token", headers=headers) as answer:
            assert answer.status == 403

    serve(SPEC, asking)


async def get_token(session: aiohttp.ClientSession, base: str, **headers: str) -> int:
    async with session.put(f"{base}/api/token", headers={TTL: "60", **headers}) as answer:
        return answer.status


def test_another_user_of_this_machine_is_not_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    async def asking(session: aiohttp.ClientSession, base: str) -> None:
        assert await get_token(session, base) == 200
        monkeypatch.setattr(service, "user_of_peer", lambda peer, own: os.getuid() + 1)
        assert await get_token(session, base) == 403
        monkeypatch.setattr(service, "user_of_peer", lambda peer, own: None)
        assert await get_token(session, base) == 403

    serve(SPEC, asking)


def test_a_page_in_a_browser_that_was_led_here_by_a_name_is_not_answered() -> None:
    async def asking(session: aiohttp.ClientSession, base: str) -> None:
        assert await get_token(session, base, Host="attacker.example:1338") == 403

    serve(SPEC, asking)


def test_cloud_init_finds_the_versions_that_it_asks_for_and_the_names_of_keys() -> None:
    async def asking(session: aiohttp.ClientSession, latest: str) -> None:
        base = latest.removesuffix("/latest")
        async with session.put(f"{latest}/api/token", headers={TTL: "60"}) as answer:
            token = {TOKEN: await answer.text()}
        for path, expected in {
            "": "2009-04-04\n2021-03-23\nlatest",
            "2009-04-04/meta-data/instance-id": "i-1",
            "2021-03-23/meta-data/public-keys/": "0=key",
            "2021-03-23/meta-data/public-keys/0/openssh-key": "ssh-ed25519 AAAA tests",
        }.items():
            async with session.get(f"{base}/{path}", headers=token) as answer:
                assert (answer.status, await answer.text()) == (200, expected), path
            async with session.get(f"{base}/{path}") as answer:
                assert answer.status == 401, path
        async with session.get(f"{base}/newest/meta-data/instance-id", headers=token) as answer:
            assert answer.status == 404

    serve(SPEC, asking)

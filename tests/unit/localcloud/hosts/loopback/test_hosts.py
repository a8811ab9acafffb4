"""A host as a client of SSH sees it."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path
from typing import Any

import asyncssh
import pytest

from tests.support.local_cloud import LocalCloud, free_port, is_alive, processes_with, wait_until


@pytest.fixture(scope="module")
def instance(cloud: LocalCloud) -> str:
    """An instance whose host is up."""
    instance_id = cloud.run(InstanceType="c5.large")
    cloud.ready(instance_id)
    return instance_id


@pytest.fixture(scope="module")
def address(cloud: LocalCloud, instance: str) -> str:
    return cloud.address(instance)


def test_a_command_streams_its_input_and_output_and_passes_its_status_on(cloud: LocalCloud, address: str) -> None:
    result = cloud.ssh(address, "cat; echo complaint >&2; exit 7", input="some\ninput\n")
    assert (result.stdout, result.stderr, result.returncode) == ("some\ninput\n", "complaint\n", 7)


def test_no_output_is_lost_at_the_end_of_a_command(cloud: LocalCloud, address: str) -> None:
    result = cloud.ssh(address, "head -c 3000000 /dev/zero | tr '\\0' x; exit 0")
    assert len(result.stdout) == 3_000_000


def test_a_large_input_arrives_whole(cloud: LocalCloud, address: str) -> None:
    result = cloud.ssh(address, "wc -c", input="y" * 2_000_000)
    assert result.stdout.strip() == "2000000"


def test_a_command_that_a_signal_ends_is_reported_as_such(cloud: LocalCloud, address: str) -> None:
    assert cloud.ssh(address, "kill -TERM $$").returncode == 255


def test_sessions_start_in_the_hosts_own_home_with_a_clean_environment(
    cloud: LocalCloud, instance: str, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_THE_CLIENT", "x")
    lines = cloud.ssh(address, "env; echo DIRECTORY=$(pwd)").stdout.splitlines()
    environment = dict(line.split("=", 1) for line in lines if "=" in line)
    home = str(cloud.state_dir / "instances" / instance / "home")
    metadata = f"http://{address}:{cloud.config['metadata_port']}"
    assert environment["HOME"] == environment["DIRECTORY"] == home
    assert environment["USER"] == "worker"
    assert environment["CENTAVO_EMULATED_SPEED"] == "0.2"
    assert environment["CENTAVO_LOCALCLOUD_INSTANCE"] == instance
    assert environment["AWS_ENDPOINT_URL"] == cloud.endpoint
    assert environment["AWS_EC2_METADATA_SERVICE_ENDPOINT"] == metadata
    assert environment["OMP_NUM_THREADS"] == "1"
    assert "SECRET_OF_THE_CLIENT" not in environment


def test_a_flavor_without_a_speed_runs_unbraked(cloud: LocalCloud) -> None:
    other = cloud.ready(cloud.run(InstanceType="t3.micro"))
    assert cloud.ssh(other, "echo speed=$CENTAVO_EMULATED_SPEED").stdout == "speed=\n"


def test_hosts_do_not_share_their_homes(cloud: LocalCloud, address: str) -> None:
    other = cloud.ready(cloud.run())
    cloud.ssh(address, "touch here")
    assert cloud.ssh(other, "ls").stdout == ""


def test_only_keys_in_authorized_keys_come_in_and_the_file_is_read_anew(
    cloud: LocalCloud, address: str, tmp_path: Path
) -> None:
    key = tmp_path / "other"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    own, other = f"IdentityFile={cloud.key_file}", f"IdentityFile={key}"
    attempt = [other if word == own else word for word in cloud.ssh_arguments(address, "true")]
    assert b"Permission denied" in subprocess.run(attempt, capture_output=True, check=False).stderr
    cloud.ssh(address, "cat >> .ssh/authorized_keys", input=key.with_suffix(".pub").read_text())
    assert subprocess.run(attempt, capture_output=True, check=False).returncode == 0


def test_a_terminal_is_given_when_asked_for(cloud: LocalCloud, address: str) -> None:
    result = cloud.ssh(address, "tty && stty size", options=["-tt"])
    assert result.stdout.startswith("/dev/pts/")


def test_an_interactive_shell_runs_what_is_typed(cloud: LocalCloud, address: str) -> None:
    result = cloud.ssh(address, options=["-tt"], input="echo $((20 + 22))\nexit 3\n")
    assert "42" in result.stdout
    assert result.returncode == 3


def test_files_are_copied_into_the_home(cloud: LocalCloud, instance: str, address: str, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_bytes(b"\0\1\2" * 100_000)
    for protocol in ([], ["-O"]):  # SFTP, and the old protocol of scp
        target = "copied" + "-".join(protocol)
        copy = ["scp", "-q", *protocol, *cloud.ssh_options(), str(source), f"me@{address}:{target}"]
        subprocess.run(copy, check=True, timeout=60)
        home = cloud.state_dir / "instances" / instance / "home"
        assert (home / target).read_bytes() == source.read_bytes()


def test_a_host_is_a_way_to_the_next_one(cloud: LocalCloud, address: str) -> None:
    target = cloud.run()
    proxy = f"ssh {' '.join(cloud.ssh_options())} -W %h:%p jump@{address}"
    result = cloud.ssh(
        cloud.ready(target), "echo $CENTAVO_LOCALCLOUD_INSTANCE", options=["-o", f"ProxyCommand={proxy}"]
    )
    assert result.stdout.strip() == target


@pytest.mark.parametrize("first", ["client", "address"])
def test_a_way_to_another_address_is_closed_whichever_side_ends_first(
    first: str, cloud: LocalCloud, address: str
) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if first == "client":
            await reader.read()
        writer.write(b"over")
        writer.write_eof()
        await reader.read()
        writer.close()

    async def talk() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        options: dict[str, Any] = {"known_hosts": None, "client_keys": [str(cloud.key_file)], "config": None}
        async with server, asyncssh.connect(address, cloud.config["ssh_port"], username="jump", **options) as host:
            reader, writer = await host.open_connection("127.0.0.1", port)
            if first == "client":
                writer.write_eof()
            assert await reader.read() == b"over"
            writer.write_eof()
            await asyncio.wait_for(writer.wait_closed(), 10)

    asyncio.run(talk())


def test_a_way_to_where_nobody_listens_is_refused(cloud: LocalCloud, address: str) -> None:
    words = ["ssh", *cloud.ssh_options(), "-W", f"{address}:{free_port()}", f"jump@{address}"]
    result = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode != 0
    assert "stdio forwarding failed" in result.stderr


def test_a_command_ends_with_all_its_children_when_its_client_goes(cloud: LocalCloud, address: str) -> None:
    client = subprocess.Popen(
        cloud.ssh_arguments(address, "sleep 1001 & echo $! $$; wait"), stdout=subprocess.PIPE, text=True
    )
    assert client.stdout
    pids = [int(word) for word in client.stdout.readline().split()]
    assert all(is_alive(pid) for pid in pids)
    client.kill()
    client.wait()
    client.stdout.close()
    wait_until(lambda: not any(is_alive(pid) for pid in pids), "the end of the command")


def test_a_daemon_outlives_its_session_but_not_its_instance(cloud: LocalCloud) -> None:
    instance_id = cloud.run()
    address = cloud.ready(instance_id)
    # One ignores what asks it to end, one has forked away twice, one has a clean environment but a marked parent.
    script = """
        (trap '' TERM HUP; setsid sleep 1002 & echo $! >> pids) > /dev/null 2>&1
        (setsid bash -c '(sleep 1003 & echo $! >> pids) &' &) > /dev/null 2>&1
        (setsid bash -c 'env -i sleep 1004 & echo $! >> pids; wait' &) > /dev/null 2>&1
    """
    assert cloud.ssh(address, script).returncode == 0
    pids = wait_until(
        lambda: found if len(found := cloud.ssh(address, "cat pids").stdout.split()) == 3 else None, "three daemons"
    )
    assert all(is_alive(int(pid)) for pid in pids)
    cloud.ec2.terminate_instances(InstanceIds=[instance_id])
    wait_until(lambda: cloud.state(instance_id) == "terminated", "the termination")
    assert not any(is_alive(int(pid)) for pid in pids)
    assert processes_with(f"CENTAVO_LOCALCLOUD_INSTANCE={instance_id}") == set()


def test_a_terminated_host_no_longer_answers_and_drops_its_connections(cloud: LocalCloud) -> None:
    instance_id = cloud.run()
    address = cloud.ready(instance_id)
    client = subprocess.Popen(cloud.ssh_arguments(address, "echo up; sleep 1005"), stdout=subprocess.PIPE)
    assert client.stdout and client.stdout.readline() == b"up\n"
    cloud.ec2.terminate_instances(InstanceIds=[instance_id])
    assert client.wait(timeout=60) != 0
    client.stdout.close()
    assert cloud.ssh(address, "true").returncode == 255


def test_processes_are_asked_to_end_before_they_are_made_to(tmp_path: Path) -> None:
    # The grace is so long that a loaded machine keeps it too. The host ends as soon as no process is left.
    with LocalCloud(tmp_path / "cloud", shutdown_grace_s=600) as cloud:
        instance_id = cloud.run()
        address = cloud.ready(instance_id)
        notice = cloud.state_dir / "asked"
        # The script does not end by itself, not even when its child is asked to end before it.
        wait = "while :; do sleep 0.1; done"
        script = f"setsid bash -c 'trap \"echo asked > {notice}; exit\" TERM; echo set > trap; {wait}'"
        cloud.ssh(address, f"{script} > /dev/null 2>&1 &")
        wait_until(lambda: cloud.ssh(address, "cat trap").returncode == 0, "the trap")
        cloud.ec2.terminate_instances(InstanceIds=[instance_id])
        wait_until(lambda: cloud.state(instance_id) == "terminated", "the termination")
        assert notice.read_text() == "asked\n"


def test_user_data_runs_once_at_the_first_boot_and_prints_to_the_console(cloud: LocalCloud) -> None:
    script = '#!/bin/bash\necho "boot of $CENTAVO_LOCALCLOUD_INSTANCE"\necho line >> boots\nexit 5\n'
    instance_id = cloud.run(UserData=script)
    address = cloud.ready(instance_id)
    wait_until(lambda: cloud.host(instance_id)["user_data"] == "failed (exit 5)", "the end of the user data")
    console = cloud.ec2.get_console_output(InstanceId=instance_id)["Output"]
    assert f"boot of {instance_id}" in console
    daemon = cloud.ssh(address, "setsid sleep 1007 > /dev/null 2>&1 & echo $!").stdout.strip()
    cloud.ec2.reboot_instances(InstanceIds=[instance_id])
    wait_until(lambda: not Path("/proc", daemon).exists(), "the reboot, which ends what runs there")
    cloud.ready(instance_id)
    assert cloud.ssh(address, "cat boots").stdout == "line\n"


def test_the_console_shows_the_key_that_the_host_answers_with(cloud: LocalCloud, instance: str, address: str) -> None:
    console = cloud.ec2.get_console_output(InstanceId=instance)["Output"]
    scan = ["ssh-keyscan", "-p", str(cloud.config["ssh_port"]), "-t", "ed25519", address]
    key = subprocess.run(scan, capture_output=True, text=True, check=True).stdout.split()[2]
    assert key in console


def test_a_stopped_instance_has_no_host_and_a_started_one_has_its_old_home(cloud: LocalCloud) -> None:
    instance_id = cloud.run()
    address = cloud.ready(instance_id)
    cloud.ssh(address, "echo kept > file; (setsid sleep 1007 &) > /dev/null 2>&1")
    cloud.ec2.stop_instances(InstanceIds=[instance_id])
    wait_until(lambda: cloud.state(instance_id) == "stopped", "the stop")
    assert processes_with(f"CENTAVO_LOCALCLOUD_INSTANCE={instance_id}") == set()
    assert cloud.ssh(address, "true").returncode == 255
    cloud.ec2.start_instances(InstanceIds=[instance_id])
    wait_until(lambda: cloud.state(instance_id) == "running", "the start")
    cloud.ready(instance_id)
    assert cloud.ssh(address, "cat file").stdout == "kept\n"


def test_many_commands_go_over_one_connection(cloud: LocalCloud, address: str, tmp_path: Path) -> None:
    shared = ["-o", "ControlMaster=auto", "-o", f"ControlPath={tmp_path}/master", "-o", "ControlPersist=600"]
    assert cloud.ssh(address, "true", options=shared).returncode == 0
    try:
        no_other_connection = [*shared, "-o", "ProxyCommand=false"]
        for _ in range(20):
            assert cloud.ssh(address, "true", options=no_other_connection).returncode == 0
    finally:
        end = [*cloud.ssh_arguments(address, options=[*shared, "-O", "exit"])]
        subprocess.run(end, check=True, capture_output=True)


def test_a_signal_from_the_client_reaches_the_command(cloud: LocalCloud, address: str) -> None:
    script = "trap 'echo caught; exit 9' INT; echo set; while :; do sleep 0.1; done"
    client = subprocess.Popen(
        cloud.ssh_arguments(address, script, options=["-tt"]),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert client.stdin and client.stdout
    assert b"set" in client.stdout.readline()
    client.stdin.write(b"\x03")  # Ctrl-C, which the terminal makes SIGINT
    client.stdin.flush()
    out, _ = client.communicate(timeout=60)
    assert b"caught" in out
    assert client.returncode == 9

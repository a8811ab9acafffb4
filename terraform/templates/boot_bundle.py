"""Prepares a worker at its boot, where nobody else does: it applies the bundle in the cluster's bucket.

The node runs this program at every boot. `control/boot.json` in the bucket names the bundle and its SHA-256. The node
prepares itself where its run goes on and, with `"when": "unowned"`, only where no controller holds the cluster's lease.
Without a bundle, or with a wrong one, it looks again: Ansible can prepare it from outside.
First it lets in the SSH keys of the lease's holder (later: controller/warden/admitting/keys.py).
It needs Python's standard library, the metadata service and the instance's role.
"""

from __future__ import annotations

import argparse
import datetime
import email.utils
import fcntl
import hashlib
import hmac
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

METADATA = os.environ.get("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://169.254.169.254").rstrip("/")
HOME = Path.home() / ".config" / "centavo"
POINTER, LEASE = "control/boot.json", "control/lease.json"
KEY = re.compile(r"control/boot/[0-9a-f]{64}\.tar\.gz")
KEYS = Path.home() / ".ssh" / "authorized_keys"
NAME, PUBLIC_KEY = re.compile(r"[\w.-]{1,64}"), re.compile(rb"(ssh|ecdsa)-[\w-]+ [\w+/=]+")
BEGIN = "# Centavo lets these in, from the cluster's bucket. Do not change the lines up to the end mark."
END = "# End of Centavo's keys."
ANSWER_S, URL_S, APPLY_S, OUTSIDE_S = 20, 3600, 1800, 600
MOST_BYTES, MOST_BUNDLE = 65536, 64 << 20
PAUSES_S = (5, 5, 10, 10, 20)


class NotNowError(Exception):
    """The node does not prepare itself now. The message says why."""


def tell(message: str) -> None:
    print(f"{now():%Y-%m-%dT%H:%M:%SZ} boot bundle: {message}", flush=True)


def now() -> datetime.datetime:
    return datetime.datetime.now(datetime.timezone.utc)


def metadata(path: str) -> str:
    ask = urllib.request.Request(f"{METADATA}/latest/api/token", method="PUT")
    ask.add_header("X-aws-ec2-metadata-token-ttl-seconds", "60")
    token = urllib.request.urlopen(ask, timeout=ANSWER_S).read().decode()
    ask = urllib.request.Request(f"{METADATA}/latest/meta-data/{path}", headers={"X-aws-ec2-metadata-token": token})
    return urllib.request.urlopen(ask, timeout=ANSWER_S).read().decode().strip()


class Bucket:
    """The cluster's bucket, read with the credentials of the instance's role."""

    def __init__(self, name: str, region: str) -> None:
        self.name, self.region = name, region
        role = metadata("iam/security-credentials/").split("\n")[0]
        self.credentials = json.loads(metadata(f"iam/security-credentials/{role}"))

    def url(self, key: str) -> str:
        """Returns a URL that reads the object for an hour (AWS Signature Version 4)."""
        own = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
        base = f"{own}/{self.name}" if own else f"https://{self.name}.s3.{self.region}.amazonaws.com"
        place = urllib.parse.urlsplit(f"{base}/{urllib.parse.quote(key)}")
        at = now().strftime("%Y%m%dT%H%M%SZ")
        scope = f"{at[:8]}/{self.region}/s3/aws4_request"
        query = urllib.parse.urlencode(
            {
                "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
                "X-Amz-Credential": f"{self.credentials['AccessKeyId']}/{scope}",
                "X-Amz-Date": at,
                "X-Amz-Expires": URL_S,
                "X-Amz-Security-Token": self.credentials["Token"],
                "X-Amz-SignedHeaders": "host",
            },
            quote_via=urllib.parse.quote,
            safe="",
        )
        request = f"GET\n{place.path}\n{query}\nhost:{place.netloc}\n\nhost\nUNSIGNED-PAYLOAD"
        digest = hashlib.sha256(request.encode()).hexdigest()
        signed = f"AWS4{self.credentials['SecretAccessKey']}".encode()
        for part in (*scope.split("/"), f"AWS4-HMAC-SHA256\n{at}\n{scope}\n{digest}"):
            signed = hmac.new(signed, part.encode(), hashlib.sha256).digest()
        return f"{place.scheme}://{place.netloc}{place.path}?{query}&X-Amz-Signature={signed.hex()}"

    def read(self, key: str, most: int) -> tuple[bytes, Any] | None:
        """Returns an object's content and the answer's headers; None where it is missing."""
        try:
            with urllib.request.urlopen(self.url(key), timeout=ANSWER_S) as answer:
                return answer.read(most), answer.headers
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return None
            raise NotNowError(f"s3://{self.name}/{key} can't be read: {error.code} {error.reason}") from error


def let_in(bucket: Bucket, lease: dict[str, Any]) -> None:
    """Lets in the key of the holder's checkout, and that of the head's controller while its run goes on."""
    head = "" if lease["stage"] == "ended" or lease["fired"] else f"head.{lease['run']}"
    keys = []
    for name in filter(NAME.fullmatch, (lease["holder"]["checkout"], head)):
        found = bucket.read(f"control/keys/{name}.pub", MOST_BYTES)
        if key := found and PUBLIC_KEY.match(found[0]):
            keys.append(f"{key[0].decode()} centavo:{name}")
    old = KEYS.read_text() if KEYS.exists() else ""
    new = re.sub(f"{BEGIN}.*?{END}\n", "", old, flags=re.DOTALL)
    new += "".join(f"{line}\n" for line in [BEGIN, *sorted(keys), END] if keys)
    if new != old:
        part = KEYS.with_suffix(".part")
        part.touch(0o600)
        part.write_text(new)
        part.rename(KEYS)


def pointer_in(bucket: Bucket, cluster: str) -> dict[str, Any]:
    """Returns what the bucket says of the bundle. Raises NotNowError where it names none that can be used."""
    found = bucket.read(POINTER, MOST_BYTES)
    if found is None:
        raise NotNowError(f"s3://{bucket.name} names no bundle yet")
    pointer = json.loads(found[0])
    if pointer["version"] != 1 or pointer["cluster"] != cluster or not KEY.fullmatch(pointer["key"]):
        raise NotNowError(f"s3://{bucket.name}/{POINTER} is of another version or cluster")
    return dict(pointer)


def check_turn(found: tuple[bytes, Any] | None, pointer: dict[str, Any]) -> None:
    """Raises NotNowError where the run does not go on, or where its controller prepares the nodes."""
    if not found:
        raise NotNowError("the cluster has no lease")
    lease = json.loads(found[0])
    if lease["run"] != pointer["run"]:
        raise NotNowError(f"the bundle is of the run {pointer['run']}, and the cluster's run is {lease['run']}")
    if lease["stage"] in ("ending", "ended") or lease["fired"]:
        raise NotNowError(f"the run {lease['run']} ends or has ended")
    answered, written = (email.utils.parsedate_to_datetime(found[1][name]) for name in ("Date", "Last-Modified"))
    is_owned = not lease["released"] and (answered - written).total_seconds() <= lease["lasts_s"]
    if is_owned and pointer["when"] == "unowned":
        raise NotNowError("a controller lives, which prepares the nodes")


def unpacked(bucket: Bucket, pointer: dict[str, Any]) -> Path:
    """Returns the folder of the bundle, which is fetched where it is missing. Raises NotNowError for a wrong digest."""
    folder = HOME / "bundles" / pointer["sha256"]
    if folder.is_dir():
        return folder
    found = bucket.read(pointer["key"], MOST_BUNDLE)
    if found is None:
        raise NotNowError(f"s3://{bucket.name}/{pointer['key']} is missing")
    got = hashlib.sha256(found[0]).hexdigest()
    if got != pointer["sha256"]:
        raise NotNowError(f"{pointer['key']} has the SHA-256 {got}, not {pointer['sha256']}: it is not used")
    folder.parent.mkdir(parents=True, exist_ok=True)
    for old in folder.parent.iterdir():
        shutil.rmtree(old)
    part = Path(tempfile.mkdtemp(dir=folder.parent))
    with tempfile.TemporaryFile() as file:
        file.write(found[0])
        file.seek(0)
        with tarfile.open(fileobj=file, mode="r:gz") as archive:
            archive.extractall(part)
    part.rename(folder)
    return folder


def with_urls(value: Any, bucket: Bucket) -> Any:
    """Returns the variables with a URL beside each object's key."""
    if isinstance(value, list):
        return [with_urls(one, bucket) for one in value]
    if isinstance(value, dict):
        signed = {"url": bucket.url(value["key"])} if "sha256" in value else {}
        return {**{name: with_urls(one, bucket) for name, one in value.items()}, **signed}
    return value


def apply(bucket: Bucket, folder: Path) -> None:
    """Applies a bundle. Raises NotNowError where it fails."""
    given = with_urls(json.loads((folder / "variables.json").read_text()), bucket)
    given["here"] = {
        "instance_id": metadata("instance-id"),
        "private_ip": metadata("local-ipv4"),
        "flavor": metadata("instance-type"),
    }
    command = [sys.executable, str(folder / "ansible" / "bin" / "apply_here.py")]
    done = subprocess.run(command, input=json.dumps(given), text=True, timeout=APPLY_S, check=False)
    if done.returncode:
        raise NotNowError(f"the bundle could not be applied: exit code {done.returncode}; the lines above say why")


def look_once(options: argparse.Namespace) -> None:
    """Prepares the node, unless that is done. Raises NotNowError where it is not to be done now."""
    bucket = Bucket(options.bucket, options.region)
    lease = bucket.read(LEASE, MOST_BYTES)
    if lease:
        let_in(bucket, json.loads(lease[0]))
    pointer = pointer_in(bucket, options.cluster)
    service = Path(pointer["root"]).expanduser() / "services" / "worker.conf"
    if service.exists() and not (HOME / "applying").exists():
        return
    check_turn(lease, pointer)
    outside = HOME / "outside"
    if outside.exists() and time.time() - outside.stat().st_mtime < OUTSIDE_S:
        raise NotNowError("a controller prepares the node now")
    folder = unpacked(bucket, pointer)
    (HOME / "applying").touch()
    tell(f"applying the bundle {pointer['sha256'][:12]} of the run {pointer['run']}")
    began = time.monotonic()
    apply(bucket, folder)
    (HOME / "applying").unlink()
    tell(f"the node is warm after {time.monotonic() - began:.0f} s")


def waits_for(options: argparse.Namespace) -> str:
    """Prepares the node, where it is its turn. Returns what it waits for; empty where nothing is left to do.

    Whoever prepares the node from outside waits for the lock.
    """
    with open(HOME / "boot.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            look_once(options)
        except NotNowError as error:
            return str(error)
        except Exception as error:  # the next look may do better
            return f"{type(error).__name__}: {error}"
    return ""


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("--bucket", "--region", "--cluster"):
        parser.add_argument(name, required=True)
    parser.add_argument("--again", action="store_true", help="look until the node is prepared")
    options = parser.parse_args()
    HOME.mkdir(parents=True, exist_ok=True)
    told, looks = "", 0
    while said := waits_for(options):
        if said != told:
            tell(f"{said}; looking again from time to time")
        told = said
        if not options.again:
            subprocess.Popen([sys.executable, *sys.argv, "--again"], stdin=subprocess.DEVNULL, start_new_session=True)
            return
        time.sleep(PAUSES_S[min(looks, len(PAUSES_S) - 1)])
        looks += 1


if __name__ == "__main__":
    main()

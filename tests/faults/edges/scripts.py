"""The faults of the layer by name, `MOMENT/WHAT`, in the order in which they strike.

Faults in later and later moments are put into one move. A run begins with those of `start`, and the first one of `end`
ends it.
"""

from __future__ import annotations

from tests.faults.edges import strikes as s

_FIRST: dict[str, s.Strike] = {
    "start/kill-controller": s.kill_controller,
    "start/second-controller": s.second_controller,
    "train/kill-controller": s.kill_controller,
    "train/second-controller": s.second_controller,
    "train/controller-cannot-write": s.controller_cannot_write,
    "train/kill-launcher": s.kill_launcher,
    "train/kill-worker": s.kill_worker,
    "train/hang-ssh-worker": s.hang(s.staying),
    "train/hang-ssh-head": s.hang(s.head),
    "train/freeze-worker": s.freeze(s.staying),
    "train/freeze-head": s.freeze(s.head),
    "train/fill-disk-worker": s.fill(s.staying),
    "train/fill-disk-head": s.fill(s.head),
    "train/partition-worker": s.cut(s.staying),
    "train/partition-head": s.cut(s.head),
    "train/reboot-worker": s.reboot(s.staying),
    "train/reboot-head": s.reboot(s.head),
    "train/lose-worker": s.lose(s.staying),
    "train/replace-worker": s.replace(s.staying),
    "train/interrupt-worker": s.interrupt(s.staying),
    "grow/kill-controller": s.kill_controller,
    "configure/kill-controller": s.kill_controller,
    "join/kill-controller": s.kill_controller,
    "shrink/kill-controller": s.kill_controller,
    "end/kill-controller": lambda run: (run.end_training(), s.wait_for_ending(run), run.restart_controller())[0],
}
_SECOND: dict[str, s.Strike] = {
    "start/lose-worker": s.lose_any,
    "train/hosts-file-removed": s.hosts_removed,
    "train/hosts-file-of-strangers": s.hosts_of_strangers,
    "train/done-torn": s.torn_done,
    "train/fact-huge-number": s.huge_number,
    "train/fact-deep-json": s.deep_json,
    "train/fact-with-commands": s.commands,
    "train/fact-endless": s.endless,
    "train/fact-lies-from-the-future": s.says_too_much,
    "train/another-host-key": s.another_host_key,
    "train/throttle": s.throttle,
    "train/slow-api": s.slow_api,
    "train/s3-down": s.s3_down,
    "train/capacity-file-by-hand": s.capacity_by_hand,
    "grow/kill-controller-with-terraform": s.kill_with_terraform,
    "configure/second-controller": s.second_controller,
    "shrink/second-controller": s.second_controller,
    "grow/throttle": s.throttle,
    "configure/hang-ssh-new": s.hang(s.coming),
    "grow/no-capacity": s.no_capacity,
    "configure/replace-new": s.replace(s.coming),
    "end/s3-down": s.s3_down_at_the_end,
}
_THIRD: dict[str, s.Strike] = {
    "start/kill-controller-with-terraform": s.kill_with_terraform,
    "grow/lose-staying": s.lose(s.staying),
    "configure/freeze-new": s.freeze(s.coming),
    "join/lose-new": s.lose(s.coming),
    "shrink/lose-staying": s.lose(s.staying),
    "shrink/hang-ssh-leaving": s.hang(s.leaving),
    "shrink/replace-new": s.replace(s.coming),
    "join/reboot-head": s.reboot(s.head),
    "shrink/kill-controller-with-terraform": s.kill_with_terraform,
    "end/hang-ssh-head": lambda run: (run.end_training(), s.hang(s.head)(run))[0],
}
STRIKES = {**_FIRST, **_SECOND, **_THIRD}
SCRIPT = tuple(STRIKES)

"""The faults of the layer by name, `MOMENT/WHAT`, in the order in which they strike.

Each of the three is one run. It begins with the faults of `start`, and the one of `end` ends it. Faults in later and
later moments are put into one move.
"""

from __future__ import annotations

from tests.faults.edges import strikes as s

_FIRST: dict[str, s.Strike] = {
    "start/kill-controller": s.kill_controller,
    "start/second-controller": s.second_controller,
    "train/kill-controller": s.kill_controller,
    "train/second-controller": s.second_controller,
    "train/controller-cannot-write": s.controller_cannot_write,
    "train/kill-launcher": s.kill_program("launch", s.head),
    "train/kill-worker": s.kill_program("warm", s.staying),
    "train/hang-ssh-worker": s.ill("hang-ssh", s.staying),
    "train/hang-ssh-head": s.ill("hang-ssh", s.head),
    "train/freeze-worker": s.ill("freeze", s.staying),
    "train/freeze-head": s.ill("freeze", s.head),
    "train/fill-disk-worker": s.ill("fill-disk", s.staying),
    "train/fill-disk-head": s.ill("fill-disk", s.head),
    "train/partition-worker": s.ill("partition", s.staying),
    "train/partition-head": s.ill("partition", s.head),
    "train/reboot-worker": s.at_once("reboot", s.staying),
    "train/reboot-head": s.at_once("reboot", s.head),
    "train/lose-worker": s.at_once("terminate", s.staying),
    "train/replace-worker": s.at_once("replace", s.staying),
    "train/interrupt-worker": s.at_once("interrupt", s.staying, in_s=2),
    "train/hosts-file-removed": s.hosts_removed,
    "train/hosts-file-of-strangers": s.hosts_of_strangers,
    "train/done-torn": s.torn_done,
    "train/fact-huge-number": s.huge_number,
    "train/fact-deep-json": s.deep_json,
    "train/fact-with-commands": s.commands,
    "train/fact-endless": s.endless,
    "train/fact-lies-from-the-future": s.says_too_much,
    "grow/kill-controller": s.kill_controller,
    "configure/kill-controller": s.kill_controller,
    "join/kill-controller": s.kill_controller,
    "shrink/kill-controller": s.kill_controller,
    "grow/kill-controller-with-terraform": s.kill_with_terraform,
    "configure/second-controller": s.second_controller,
    "shrink/second-controller": s.second_controller,
    "end/kill-controller": s.kill_controller_in_the_ending,
}
_SECOND: dict[str, s.Strike] = {
    "start/lose-worker": s.lose_any,
    "train/another-host-key": s.another_host_key,
    "train/throttle": s.throttle,
    "train/slow-api": s.slow_api,
    "train/s3-down": s.s3_down,
    "train/capacity-file-by-hand": s.capacity_by_hand,
    "grow/throttle": s.throttle,
    "configure/hang-ssh-new": s.ill("hang-ssh", s.coming),
    "shrink/kill-controller-with-terraform": s.kill_with_terraform,
    "grow/lose-staying": s.at_once("terminate", s.staying),
    "configure/freeze-new": s.ill("freeze", s.coming),
    "join/lose-new": s.at_once("terminate", s.coming),
    "shrink/lose-staying": s.at_once("terminate", s.staying),
    "end/s3-down": s.s3_down_at_the_end,
}
_THIRD: dict[str, s.Strike] = {
    "start/kill-controller-with-terraform": s.kill_with_terraform,
    "configure/replace-new": s.at_once("replace", s.coming),
    "shrink/hang-ssh-leaving": s.ill("hang-ssh", s.leaving),
    "join/reboot-head": s.at_once("reboot", s.head),
    "shrink/replace-new": s.at_once("replace", s.coming),
    "grow/no-capacity": s.no_capacity,
    "end/hang-ssh-head": s.hang_head_at_the_end,
}
STRIKES = {**_FIRST, **_SECOND, **_THIRD}
SCRIPTS = (tuple(_FIRST), (*_SECOND, *_THIRD))
"""The faults that have to follow one another. The two scripts may run side by side, each in a cloud of its own."""

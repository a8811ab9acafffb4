"""Owning a cluster: its lease in the bucket, and the run's state that lies there for whoever takes over.

How to use it:

- `Ownership` (ownership.py) is what a command holds while it changes things. It is the lock that
  `Journal.take_over` asks for: `check` says whether this process still owns the environment, `check_surely` does so
  before a side effect. `own(objects)` takes the lease once there is a bucket. `work_on(journal)` names the run,
  and begins to copy its state to the bucket. `saw(stage, ...)` tells how far it is, once a pass.
- `take` (taking.py) takes a lease, `HeldLease` (held.py) is one that is held, `Heartbeat` (heartbeat.py) renews it.
- `Copies` (copies.py) copies a run's state to the bucket in the background. `remote.py` reads it, from anywhere.
- `keys.py` has the names of all objects. `lease.schema.json` describes the lease for its other readers.

A lease that is given back (`released`) says that its holder left on purpose: after Ctrl-C, `train` or `apply` what
runs goes on without a controller. A lease that runs out says that its holder is gone.
"""

"""The dead man's switch: what gives a cluster back when nobody owns it any more.

The same Python runs in four places: on the head, on each worker, in the Lambda function of `terraform/modules/reaper`,
and in `centavo reap`. On a node and in Lambda it lies alone, under the name `warden`. So it imports itself relatively,
and otherwise only the standard library and boto3. Deciding (`verdict`) is pure and apart from doing.

The controller owns a cluster while it renews the lease `control/lease.json` in the cluster's bucket:

- The head looks at the lease. It gives the workers back when the lease has run out, when the training has ended long
  ago, or when no step was made for too long. Then it stops itself.
- While nobody owns it and it trains, the head lets in the nodes that come as replacements (`admitting.workers`).
- A worker that finds neither a valid lease nor an answering head for longer ends itself.
- The reaper ends what has outlived its lease by longer still.

A bucket that cannot be read says nothing about the lease: the head waits for it as long as a worker waits, from the
last step on. A lease that has run out is watched for as long as a lease lasts first: after an outage or a suspend, the
head may be the first that reaches the bucket again. A new holder alone is no sign of life. The head looks at the lease
again before each step of giving back: who has taken the cluster meanwhile keeps it. Where the
bucket holds no lease, a training that makes steps goes on, and the head waits from the last step or from its own start.
The reaper leaves such a cluster alone.

The warden also lets in the SSH keys of who controls the cluster (`admitting.keys`): it reads the bucket on each
node.

No clock of a reader decides. S3 tells the age of a lease: the date of its answer less the date of the object. All
waiting is measured by the clock that counts since the boot.
"""

"""Keeping the hosts file right: nodes that EC2 replaced are let in, and nodes that are gone are taken out."""

from __future__ import annotations

from controller.loop.job import Job


def update_members(job: Job) -> bool:
    """Makes the hosts file name the nodes that run and are prepared. Returns whether anything was to be done."""
    cluster = job.cluster
    workers, members = cluster.workers(), cluster.members()
    gone = members - {i.instance_id for i in workers}
    strangers = [i for i in workers if i.is_running and i.instance_id not in members]
    silent = cluster.silent(strangers) if strangers else {}
    newcomers = [i for i in strangers if i.instance_id not in silent]
    if not gone and not newcomers:
        return False
    if gone:
        job.note(f"{', '.join(sorted(gone))} are gone; the training goes on without them")
    if newcomers:
        job.note(f"preparing {', '.join(i.instance_id for i in newcomers)}, which run and take no part yet")
        cluster.configure(newcomers, job.settings.timeouts.configure_s)
    joining = {i.instance_id for i in newcomers} | members
    cluster.set_hosts([i for i in workers if i.is_running and i.instance_id in joining])
    return True

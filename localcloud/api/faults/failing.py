"""Answers of an API that fails: throttled, slow, down, or out of reach of an instance that is cut off."""

from __future__ import annotations

import time

from localcloud.api.errors import BAD_REQUEST, UNAVAILABLE, Asked, Codes, answer_error
from localcloud.api.faults.injected import Fault, Injected
from localcloud.api.wsgi import Body, Environ, StartResponse
from localcloud.support.processes import INSTANCE_MARKER, marked
from localcloud.support.sockets import sockets_of, tcp_connections

POLL_S = 0.1
DOWN = Codes("Unavailable", "ServiceUnavailable", "ServiceUnavailable", "ServiceUnavailableException")
THROTTLED = Codes("RequestLimitExceeded", "SlowDown", "Throttling", "ThrottlingException")


class FailingApi:
    """Answers requests as the faults in force ask. It is asked before any other part of the API, without the lock."""

    def __init__(self, injected: Injected) -> None:
        self.injected = injected

    def answer(self, asked: Asked, start_response: StartResponse) -> Body | None:
        """Returns the answer of a fault, as late as the fault wants it; None if the request is to be answered."""
        slow = self.injected.find("slow-api")
        if slow:
            time.sleep(slow.delay_s)
        if self._was_cut_off(asked.environ):
            return answer_error(asked, start_response, UNAVAILABLE, DOWN, "The instance was cut off from the API.")
        if asked.service == "s3" and self.injected.find("s3-down"):
            return answer_error(asked, start_response, UNAVAILABLE, DOWN, "Service is unable to handle request.")
        if self.injected.takes_throttling(asked.service):
            status = UNAVAILABLE if asked.service in ("ec2", "s3") else BAD_REQUEST
            return answer_error(asked, start_response, status, THROTTLED, "Rate exceeded")
        return None

    def _was_cut_off(self, environ: Environ) -> bool:
        """Returns whether the sender was cut off from everything. If so, waits until it no longer is."""
        fault = self._partition_of(environ)
        if fault is None:
            return False
        while any(one is fault for one in self.injected.all()):
            time.sleep(POLL_S)
        return True

    def _partition_of(self, environ: Environ) -> Fault | None:
        cut = [fault for fault in self.injected.all() if fault.kind == "partition" and fault.other is None]
        if not cut:
            return None
        sender = (environ["REMOTE_ADDR"], int(environ["REMOTE_PORT"]))
        inodes = {inode for inode, ends in tcp_connections().items() if ends.own == sender}
        for fault in cut:
            if inodes & set(sockets_of(marked(INSTANCE_MARKER, fault.target))):
                return fault
        return None

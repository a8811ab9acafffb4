"""The main job: it starts a training, optimises the fleet pass after pass, and gives everything back at the end."""

from controller.loop.approval import Approval, at_once
from controller.loop.deciding import Decider, decide_on
from controller.loop.job import Job
from controller.loop.run import Optimizer
from controller.loop.speeds import keep_speeds
from controller.loop.start import wait_until_up

__all__ = ["Approval", "Decider", "Job", "Optimizer", "at_once", "decide_on", "keep_speeds", "wait_until_up"]

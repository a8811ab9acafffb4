"""The safety net: the deadline is kept whenever on-demand alone would keep it.

With work left `C`, time left `R`, change-over `d`, what is left of a running change-over `o` and a step `g`, a job is
safe when (a) on-demand runs and `C + o <= R`, or (b) `C + d <= R`: on-demand can begin now.

A choice is safe when the job is safe at the next step, whatever capacity there is then:

- On-demand that runs already does `g - o` of work in a step, so that (a) holds again.
- On-demand that begins needs (b) now, and (a) holds at the next step.
- Waiting needs `C + d <= R - g`.
- Spot does `p = max(0, g - o)` of work, where `o = d` for a start. It needs `C - p + d <= R - g`. In the step that ends
  the job it needs `C + o <= R`.

By induction every job that is safe at its beginning, which is (b), stays safe: in (a) on-demand may run on, in (b) it
may begin. A job that is safe with `C = 0` is done in time. Spot that is taken back loses no work here, since the job
writes a checkpoint when it is told so. A job that loses `x` at each interruption has to count `x` into its change-over.
"""

from __future__ import annotations

from controller.decide.deadlines.situation import ON_DEMAND, WAIT, Choice, OnDemand, Situation, Spot, Wait

ROUNDING_S = 1e-6
"""Sums of steps and change-overs are exact to this."""


def is_safe(choice: Choice, situation: Situation) -> bool:
    """Returns whether on-demand alone still keeps the deadline after a step with this choice."""
    job, left_s = situation.job, situation.time_left_s + ROUNDING_S
    if isinstance(choice, OnDemand):
        return situation.work_left_s + change_over_s(choice, situation) <= left_s
    done_s = 0.0 if isinstance(choice, Wait) else max(0.0, job.step_s - change_over_s(choice, situation))
    work_s = situation.work_left_s - done_s
    if isinstance(choice, Spot) and work_s <= 0:
        return situation.work_left_s + change_over_s(choice, situation) <= left_s
    return work_s + job.change_over_s <= left_s - job.step_s


def change_over_s(choice: Choice, situation: Situation) -> float:
    """Returns how long a choice does no work from now on: what is left of a change-over that runs, or a whole one."""
    if isinstance(choice, Wait):
        return 0.0
    return situation.change_over_left_s if choice == situation.running else situation.job.change_over_s


def kept_safe(choice: Choice, situation: Situation) -> Choice:
    """Returns a choice where it is safe, else spot that runs where that is safe, else on-demand."""
    if is_safe(choice, situation):
        return choice
    running = situation.running
    if isinstance(running, Spot) and situation.available[running.pool] and is_safe(running, situation):
        return running
    return ON_DEMAND if situation.work_left_s > 0 else WAIT

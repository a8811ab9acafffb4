"""Reconciling: a pure function from the goal and what is seen now to the next actions.

No action relies on an earlier one. Each of them may fail, be repeated, or have been done already, so that a controller
that died anywhere goes on with an ordinary pass. (Level-triggered reconciliation, as in Kubernetes: "Principles",
https://github.com/kubernetes/design-proposals-archive/blob/main/architecture/principles.md.)
"""

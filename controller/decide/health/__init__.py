"""Whether a training makes progress, and what to do where it does not.

`watch` takes each look up into `Signs`: how long each state has lasted. `diagnose` judges them. Both are pure.
"""

from controller.decide.health.diagnose import diagnose
from controller.decide.health.remedies import dropped
from controller.decide.health.signs import NodeSigns, Signs
from controller.decide.health.watch import watch

__all__ = ["NodeSigns", "Signs", "diagnose", "dropped", "watch"]

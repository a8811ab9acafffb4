"""On demand, spot or nothing for now: what a run with a deadline buys.

`buyable.py` says what could be bought, `timeline.py` what was seen of the spot pools, and `advice.py` chooses by the
policy of `controller/decide/deadlines/`. `asked.py` makes a decision of the choice.
"""

"""One job with a deadline on spot capacity that comes and goes: on demand, spot in which pool, or wait.

Begin with `situation.py`. Every policy is a function from a `Situation` to a `Choice`. `safety.py` keeps the deadline,
`expected_cost.py` is our policy, and `paper.py` holds the policies that it is compared with.

The problem and Uniform Progress: Wu et al., "Can't Be Late: Optimizing Spot Instance Savings under Deadlines", NSDI
2024.
"""

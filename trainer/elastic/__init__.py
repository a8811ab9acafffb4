"""The ranks that train together, and what they exchange.

A training needs three things of this room: `world.World` says who takes part and forms the next world, the functions of
`exchange` add up and hand on, and `errors` names the ways in which a world ends. Another way to distribute a training
offers the same three.
"""

"""The one place where classes of moto are changed.

moto 5.1 dispatches an action to the method of that name on a response class, and serialises what the method returns
with botocore's model. So an action that moto lacks is a function set on that class. Where moto's behaviour is too
simple, methods of its model classes are replaced: for states, addresses and groups. `corrections` holds moto's defects.
"""

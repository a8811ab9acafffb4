"""What the spot market takes is replaced at once, and waited for where there is no capacity.

The nodes themselves say what the spot service says of them: each rank asks its metadata service, and its notice comes
with its fact, over the connection to the head that is there anyway. So a notice costs no call of AWS's API, needs no
queue and no permission, and reaches the controller within one look. A node without a rank says nothing: it holds
nothing that could be lost.
"""

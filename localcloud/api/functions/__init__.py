"""Lambda's functions: each call is a process of its own, which a client asks for or the schedule of a rule."""

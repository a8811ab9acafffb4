"""The process in which all hosts live, apart from the API's process so that neither slows the other.

`__main__` reads which hosts shall run. `supervisor` starts and stops hosts until exactly those run. `host` is the
interface of every kind of host. `kinds` is the only place that names the kinds.
"""

"""The control API under `/_localcloud/`: what tests do to a cloud that no call of AWS's API can do.

`GET status` shows instances, groups and the limits in force. `GET faults` shows the faults that were injected.
Everything else is a `POST` with a JSON object, which `requests` describes. An answer is a JSON object; that of a
refused request has the key `error`.
"""

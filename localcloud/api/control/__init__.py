"""The control API under `/_localcloud/`: what tests do to a cloud that no AWS call can do."""

"""Where checkpoints, results and prepared corpora are stored: a directory, or S3."""

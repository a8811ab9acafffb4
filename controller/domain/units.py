"""Units that the whole controller reckons with."""

SECONDS_PER_HOUR = 3600.0
TOKENS_PER_MILLION = 1e6

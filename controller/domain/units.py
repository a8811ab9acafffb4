"""Units that the whole controller reckons with."""

SECONDS_PER_HOUR = 3600.0
TOKENS_PER_MILLION = 1e6


def usd_per_million_tokens(usd_per_hour: float, tokens_per_s: float) -> float:
    """Returns what a million tokens cost at a price an hour and a speed in tokens per second."""
    return usd_per_hour / SECONDS_PER_HOUR / tokens_per_s * TOKENS_PER_MILLION

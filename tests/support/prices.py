"""Dollars per hour, on demand, us-east-1 (list prices), of the six flavors that tests and benches are about."""

LIST_PRICES = {
    "t2.medium": 0.0464,
    "t2.large": 0.0928,
    "t2.xlarge": 0.1856,
    "c5.large": 0.085,
    "c5.xlarge": 0.17,
    "c5.2xlarge": 0.34,
}

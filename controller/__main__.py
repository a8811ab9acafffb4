"""`python -m controller`: the same as `centavo`."""

from controller.cli import main

if __name__ == "__main__":
    raise SystemExit(main())

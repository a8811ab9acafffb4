"""`python -m localcloud.hosts`, which the daemon starts."""

from localcloud.hosts.supervisor import main

if __name__ == "__main__":
    main()

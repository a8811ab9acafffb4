"""The image of machines: a root file system of Debian 12, made once and kept in the cache."""

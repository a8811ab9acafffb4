"""The kind of host `machine`: a Debian 12 of its own for each instance, which boots as a fresh EC2 instance does.

It needs Linux, root rights and some Debian packages (`requirements`). What goes in, what comes out:

    requirements  this machine                          -> what is missing, before anything is made
    names         state folder, ids                     -> names of all that a cloud makes; they carry a prefix
    record        ranges, settings of the kernel before -> a file in the state folder, written before anything is made
    image/        recipe, this machine's apt, pip, CAs  -> a root file system in the cache, under the recipe's digest
    disk/         image, size of the volume             -> an ext4 volume per instance, as the layer over the image
    disk/snapshots  volume of a stopped machine         -> a further layer for machines of an image made of it
    disk/seed     specification                         -> cloud-init's settings, name server, environment, in the layer
    network/      ranges, subnets                       -> blackhole routes first; then bridges, namespaces, cables
    firewall/     security groups, subnets' ways out    -> one nftables table, replaced as a whole at each change
    services/     specification, namespace              -> IMDS, name server and the API's endpoint within the namespace
    boot/         root, namespace, limits of the type   -> systemd-nspawn in its control groups, and its end
    faults        faults of the specification           -> frozen control groups, full volumes, cut cables
    host          one specification                     -> one instance, from one boot to its end
    kind          all of the above                      -> hosts for the supervisor
    cleanup       names, record                         -> nothing is left: processes, mounts, namespaces, links, rules

No packet for an address of the cloud may leave this machine. So the blackhole routes are set before anything else and
removed after everything else, and the firewall drops what would leave nevertheless.
"""

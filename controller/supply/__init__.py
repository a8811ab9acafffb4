"""What the nodes are supplied with through the cluster's bucket: their packages, and the corpus of the training.

The bucket has these objects. The name of each says what is in it, so none is ever changed:

    wheelhouse/DIGEST.json          the manifest of a wheelhouse (requirements/wheelhouse.schema.json), written last
    wheelhouse/DIGEST/SHA256.tar    its archive
    corpus/SHA256                   one file of a corpus
    corpus/prepared/SHA256/         a prepared corpus, under the digest of its manifest, which is written last
    control/boot/SHA256.tar.gz      all by which a node prepares itself at its boot (boot_bundle.py)

A node gets a presigned URL for each file that it needs, with the SHA-256 and the size, as Ansible variables:

    centavo.wheelhouse              null, or made_for (digest, python, machine, glibc), url, sha256 and size
    centavo.corpus.files            a list of url, sha256, size and path
    centavo.corpus.settings         what the node's training.yml says in place of the person's paths

A node reads a prepared corpus where it lies, shard by shard.

Through the bucket, a corpus crosses the person's line once, however many nodes there are. Nodes that join hours later
get the same files, whatever has become of them on the person's machine: a run keeps what it was supplied with in its
supplies.json.
"""

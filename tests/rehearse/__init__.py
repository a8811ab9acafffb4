"""A rehearsal of `ENV=aws` on machines that localcloud boots, each with a Debian and a network of its own."""

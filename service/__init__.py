"""The Durak service over gRPC, with one folder per feature, and the command line.

docs/architecture.md lists the folders. CONTRIBUTING.md describes the path of a command.
"""

import os

# The service starts the embedded Postgres as a process. The fork handlers of gRPC would stop its
# threads for that, and the new process does not use gRPC, so they are turned off.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "false")

# gRPC writes a line to standard error for each malformed call of a client: a flood at their will.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")

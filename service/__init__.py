"""The Durak service over gRPC: the frame that every call passes, servicers, and command line.

A call is received by `server`, passes `interceptor` (who calls: `auth`, may they: `roles`, not too
often: `limits`), reaches a servicer that checks its `fields`, and is answered, or refused as the
catalogue in `errors` says, in the language of the caller (`localisation`).
"""

import os

# The embedded Postgres is started as a process of its own. Forking for that needs none of gRPC's
# handlers, which would halt its threads.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "false")

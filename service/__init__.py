"""The Durak service over gRPC: the frame of every call, the features, and the command line.

`server` builds all parts. A call passes `rpc` (the caller's token, roles and limits) to the
servicer of a feature, which checks the fields of the request in its `requests` and answers it. A
failed call is answered by `rpc.errors`, in the language of the caller (`text.localisation`).
"""

import os

# The embedded Postgres is started as another process. The fork for that needs none of gRPC's
# handlers, which would stop its threads.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "false")

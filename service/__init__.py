"""The Durak service over gRPC: the frame that every call passes, servicers, and command line.

A call is received by `server`, passes `interceptor` (who calls: `auth`, may they: `roles`, not too
often: `limits`), reaches a servicer that checks its `fields`, and is answered, or refused as the
catalogue in `errors` says, in the language of the caller (`localisation`).
"""

"""Sign, publish and prove the transparency log of matches and disputes.

`checkpointer` decides when to sign, `signing_keys` signs with all keys, and
`domain.transparency.checkpoint` is the format. `publishing` writes the result outside the database.
"""

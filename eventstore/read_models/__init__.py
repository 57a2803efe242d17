"""Tables that are computed from the streams and can be rebuilt from them: lobby and standings."""

"""Tables computed from the streams: the lobby and the standings."""

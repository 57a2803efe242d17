"""FeedService: what concerns a player, on a stream that can be resumed."""

"""FeedService: what concerns a player, and the open tables, on streams."""

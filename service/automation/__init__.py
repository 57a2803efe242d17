"""What acts without a player: the clock and the bots."""

"""Acts in matches without a player: the clock and the bots."""

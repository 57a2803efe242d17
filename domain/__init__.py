"""The game: pure functions and plain data. No I/O, clock or randomness (DESIGN "House plan")."""

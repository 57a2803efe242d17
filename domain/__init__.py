"""The game: pure functions and plain data, without I/O, clock, randomness or logging."""

"""PracticeService: endgame puzzles to solve without a login."""

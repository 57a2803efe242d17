"""MatchService and the live engine behind it: commands, watches and sessions."""

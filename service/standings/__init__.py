"""StandingsService: series and ratings, and the projection that computes them."""

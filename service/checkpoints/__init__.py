"""Sign, publish and prove the transparency log of matches and disputes."""

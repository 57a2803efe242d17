"""Sign, publish and prove the transparency log of ended matches."""

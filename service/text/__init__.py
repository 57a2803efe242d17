"""Texts for people in Russian, Greek and English."""

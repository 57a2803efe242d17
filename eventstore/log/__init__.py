"""Append to match streams and read them."""

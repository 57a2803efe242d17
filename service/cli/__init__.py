"""The command line `durak`."""

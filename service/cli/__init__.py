"""The command line `durak`: one module or folder per command or family of commands."""

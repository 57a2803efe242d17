"""The contract, version 1, as generated from the .proto files in this folder."""

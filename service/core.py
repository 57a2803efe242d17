"""Whether this process runs the compiled core or the core in plain Python."""

from importlib.machinery import ExtensionFileLoader

from domain import cards


def core_form() -> str:
    """Return `compiled` or `pure`."""
    return "compiled" if isinstance(cards.__loader__, ExtensionFileLoader) else "pure"

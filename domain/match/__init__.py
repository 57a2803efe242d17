"""The rules of a match: state, fold, decisions and views, as pure functions."""

"""Worker processes for computations that would block the event loop."""

"""Errors of the worker pool."""


class WorkerPoolError(Exception):
    """The pool has no result for a task. Base of the errors below."""


class PoolFullError(WorkerPoolError):
    """Too many tasks are running and waiting."""


class TaskTimeoutError(WorkerPoolError):
    """The time of the task is over."""


class PoolClosedError(WorkerPoolError):
    """The pool is closed, because the service stops."""


class PoolBrokenError(WorkerPoolError):
    """The workers do not start, or die while they run the task."""

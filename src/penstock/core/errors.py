"""Every error Penstock raises on purpose."""


class PenstockError(Exception):
    """The base class of all errors that Penstock raises on purpose."""


class UserMistake(PenstockError):
    """A mistake that the user can correct; the message is one line: what is wrong, where, what to do. Several mistakes found together are a line each.

    >>> str(UserMistake("limits.min_executors: found 5, at most limits.max_executors (4) is allowed"))
    'limits.min_executors: found 5, at most limits.max_executors (4) is allowed'
    """

    def __init__(self, *lines: str) -> None:
        super().__init__("\n".join(" ".join(line.split()) for line in lines))


class Refused(PenstockError):
    """A command that cannot be carried out here; the message says why and what would help."""


class NotReachable(PenstockError):
    """A process, a file or a service that should answer does not."""

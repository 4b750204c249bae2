"""Why a file or a folder of event logs cannot be read, in words."""

from __future__ import annotations


def why_unreadable(error: OSError) -> str:
    """As the system says it; what is gone since it was found was as a rule renamed by Spark.

    >>> why_unreadable(PermissionError(13, "Permission denied"))
    'it cannot be read: Permission denied'
    """
    if isinstance(error, FileNotFoundError):
        return "it is gone since it was found: Spark renames a log when its job ends, and puts the parts of a rolling one together; audit it again"
    return f"it cannot be read: {error.strerror or error}"

"""Names for annotations without the module typing, which takes 0.5 MiB of each probe."""

__all__ = ["TYPE_CHECKING", "Any", "BinaryIO", "T"]

TYPE_CHECKING = False
"""True for mypy, which knows this name wherever it is from."""

if TYPE_CHECKING:
    from typing import Any, BinaryIO, TypeVar

    T = TypeVar("T")
else:
    Any = BinaryIO = T = object

"""Deterministic pseudo-random numbers that depend on a key and an index only."""

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_GOLDEN = 0x9E3779B97F4A7C15
_WORD = (1 << 64) - 1


def uniform(key: int, index: IntArray) -> FloatArray:
    """Return a number in [0, 1) for each index: the output of splitmix64 (Steele et al., OOPSLA 2014) at state key + index x golden gamma.

    >>> uniform(0, np.array([1, 2])).round(6).tolist()
    [0.431528, 0.026434]
    """
    state = np.uint64(key & _WORD) + (index.astype(np.uint64) + np.uint64(1)) * np.uint64(_GOLDEN)
    return (_mixed(state) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def key_of(seed: int, number: int) -> int:
    """Return the key of a numbered part; the parts of one seed are independent.

    >>> key_of(7, 0) != key_of(7, 1) != key_of(8, 0)
    True
    """
    first = _mixed(np.array([(seed + _GOLDEN) & _WORD], dtype=np.uint64))
    return int(_mixed(first + np.uint64(number * _GOLDEN & _WORD))[0])


def _mixed(word: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))

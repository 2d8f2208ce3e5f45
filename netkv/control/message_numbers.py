"""Message numbers that no earlier controller has used, derived from the clock alone. The engine
implements them (`engine/python/src/control`).

Servers keep the message numbers of a controller in a deduplication window, also after it has
crashed: a number that is not newer counts as a late copy. Switch and servers identify entries by
generation. A new controller has no state, so its numbers must be above all earlier ones.

Rules
-----
1. Number n is used only when the clock has reached n / `per_second` seconds. So a controller that
   starts at that time or later, and begins above `now * per_second`, is above all used numbers.
   This also holds for restarts in quick succession, and for a clock that begins at 0.
2. Unused numbers add up: after an idle second, `per_second` numbers may be used at once.
3. On the wire a number has 32 bits and is never 0. It is compared as a serial number, which is
   correct as long as the two numbers are less than half of the range apart.

The rate limits how fast a cache can be filled, at three numbers for each key. Half of the range
limits how long ago an earlier controller may have used its numbers:

    per_second   keys a second   half of the range
         1,024             341   24 days
        32,768          10,922   18 hours (the default)
     1,048,576         349,525   34 minutes

A switch driver takes some 10,000 table writes a second (Jin et al., SOSP 2017, slide "Cache
Update"), so the default rate does not limit a controller.
"""

from netkv._engine import MessageNumbers

__all__ = ["MessageNumbers", "is_newer", "wire"]

_RANGE = 1 << 32


def wire(number: int) -> int:
    """The number in a frame: 32 bits, not 0."""
    return number % _RANGE


def is_newer(a: int, b: int) -> bool:
    """Whether `a` is newer than `b`, both as in frames (rule 3)."""
    return 0 < (a - b) % _RANGE < _RANGE // 2

"""Stores profiles of users on a rack that is up, by redis-py through `netkv gateway`.

python profiles_redis.py [PORT]
"""

import sys

from profiles import PAGE, USERS, key, profile
from redis import Redis


def main(port: str = "6380") -> None:
    with Redis(port=int(port), socket_timeout=30) as rack:
        with rack.pipeline(transaction=False) as requests:
            for user in range(USERS):
                requests.set(key(user), profile(user))
            requests.execute()
        print(f"{USERS} profiles are written")

        keys = [key(user) for user in range(USERS)]
        starts = range(0, USERS, PAGE)
        read = [value for first in starts for value in rack.mget(keys[first : first + PAGE])]
        assert read == [profile(user) for user in range(USERS)]
        first = read[0].decode()
        print(f"{len(read)} profiles are read in {len(starts)} pages; the first is {first}")

        rack.delete(*keys[:PAGE])
        left = [value for first in starts for value in rack.mget(keys[first : first + PAGE])]
        print(f"{PAGE} profiles are deleted; {USERS - left.count(None)} are left")


if __name__ == "__main__":
    main(*sys.argv[1:])

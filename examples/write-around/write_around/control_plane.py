"""The control plane: it fills the tables and gives the hottest keys their entries."""

from netkv.control.base import MILLISECOND, InsertEntry
from netkv.control.forwarding import TablesOnly


class WriteAround(TablesOnly):
    def __init__(self, topology):
        super().__init__(topology)
        self.now = 0
        self.keys: tuple[bytes, ...] = ()

    def handle(self, now, event):
        self.now = now
        return super().handle(now, event)

    def tables(self):
        """What the switch gets whenever it is empty."""
        self.generation = 1 + self.now // MILLISECOND % 0xFFFFFFFF  # rule 3
        yield from self.forwarding.partition()
        yield from self.forwarding.routes()
        yield from self.entries()

    def entries(self):
        for entry, key in enumerate(self.keys):
            yield InsertEntry(
                write=self.forwarding.next_write(),
                table="NetkvIngress.cache.entries",
                match={"key": int.from_bytes(key)},
                action="NetkvIngress.cache.cached",
                params={"entry": entry, "generation": self.generation},
            )

    def on_preload(self, now, keys):
        self.keys = keys
        yield from self.forwarding.add(self.entries())

    def cached_keys(self):
        return list(self.keys)

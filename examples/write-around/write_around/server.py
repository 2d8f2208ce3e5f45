"""The server: every answer says which write made the record."""

from netkv.model.messages import Op, Status
from netkv.roles import SingleKeyServer, sequence_stamp


class WriteAroundServer(SingleKeyServer):
    keeps_sequences = True

    def __init__(self, options, now):
        super().__init__(options, now)
        self.last = 0  # sequence
        self.storing = {}  # key: sequence of the write that the store has
        self.refills = 0

    def on_write(self, now, write, out):
        self.last = max(self.last + 1, self.options.epoch + now)  # rule 4
        self.storing[write.message.key] = self.last
        out.store(write, self.last)

    def on_stored(self, now, write, out):
        out.end(write, stamp=sequence_stamp(self.storing.pop(write.message.key)))

    def on_copy(self, now, write, status, out):
        if status is Status.OK:
            out.read(write)  # rule 5
        else:
            out.answer(write, status)

    def on_value(self, now, request, value, sequence, out):
        about = request.message
        if about.op is not Op.GET:
            out.answer(request, stamp=sequence_stamp(sequence))
            return
        generation = about.stamp.generation if about.stamp else 0
        self.refills += generation != 0
        status = Status.NOT_FOUND if value is None else Status.OK
        out.answer(request, status, value or b"", sequence_stamp(sequence, generation))

    def counts(self):
        return {"refills": self.refills}

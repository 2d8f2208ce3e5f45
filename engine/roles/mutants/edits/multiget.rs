//! Servers, clients and the coordinator of multigets.

use crate::choices::mutants;

mutants! {
/// Protections of multigets.
MULTIGET: [
    /// Server: all keys of a frame are read and answered, not only the requested ones.
    ServerReadsAllKeys {
        choice "kits/multiget/server/reads.rs":
            "let keys = «usize::from(requester.header.numkey)»;" => "view.keys().count()";
        choice "kits/multiget/server/reads.rs":
            "«view.asked().filter_map(WireKey::new).for_each(|name| results.push(name));»"
            => "view.keys().filter_map(WireKey::new).for_each(|name| results.push(name));";
    }
    /// Server: a write of a coordinator is identified by the coordinator's number, not the
    /// client's.
    ServerNumbersByCoordinator {
        choice "kits/multiget/server/writes.rs": "COORDINATOR_IP => «view.on_behalf()»,"
            => "Some(OnBehalf { client: u16::MAX, request })";
    }
    /// Server: if the store fails for some keys of a read, they are answered as not found.
    ServerTakesFailuresForAbsent {
        choice "kits/multiget/server/reads.rs": "StoreResult::Done | StoreResult::Failed => «false»,"
            => "reading.results.set(at, None)";
    }
    /// Server: clients may write the records of a store itself.
    ServerTakesReservedKeys {
        choice "kits/multiget/server/mod.rs": "«key.starts_with(&RESERVED) && !of_keyspace»"
            => "false";
    }
    /// Server: numbers of requests are compared as plain numbers, not as serial numbers.
    ServerPlainNumbers {
        always "common/window.rs": "    fn slot(&mut self, request: u32)"
            => "    pub(crate) fn newest(&self) -> u32 { self.newest }
                @";
        choice "kits/multiget/server/writes.rs": "let seen = «window.look(request, second)»;"
            => "let is_late = request < window.newest();
                let seen = @;
                if is_late { Seen::Late } else { seen }";
    }
    /// Client: KEYIDX does not mark the end of the last key group.
    ClientEndsNoLastGroup {
        choice "netmc/mod.rs":
            "«header.rack = rack_of(writer.keys_of(part)[0].owner, writer.layout.per_rack);»"
            => "@ header.keyidx &= !(1 << 127 >> (part.count - 1));";
    }
    /// Client: entries of a reply are appended to those before, whichever keys it names.
    ClientAppendsReplies {
        choice "kits/multiget/client/replies.rs": "|| «!names_keys_of(operation, &part, view)» {"
            => "false";
        choice "kits/multiget/client/replies.rs": "let first = «usize::from(view.header().startidx)»;
        let end" => "part.missing.trailing_zeros() as usize";
    }
    /// Client: a key that was not found counts as not answered.
    ClientIgnoresAbsent {
        choice "kits/multiget/client/replies.rs": "let new = «part.missing & key_bits(first, end)»;"
            => "let absent = (first..end).zip(view.entries()).filter(|(_, entry)| !entry.found);
                absent.fold(@, |new, (index, _)| new & !(1 << index))";
    }
    /// Client: a request is complete after as many entries as it has keys, whichever they are.
    ClientCountsKeys {
        always "kits/multiget/client/operation.rs":
            "    pub(crate) missing: u128,\n"
            => "@ pub(crate) counted: usize,\n";
        always "kits/multiget/client/operation.rs": "groups, missing« }»" => ", counted: 0 }";
        choice "kits/multiget/client/replies.rs": "if «part.missing == 0 && new != 0» {"
            => "part.counted += view.entries().count();
                let ends = part.counted >= part.count && (new != 0 || part.missing != 0);
                if ends { part.missing = 0; }
                ends";
    }
    /// Client: a request is complete after the first reply.
    ClientTakesFirstReply {
        choice "kits/multiget/client/replies.rs": "if «part.missing == 0 && new != 0» {"
            => "let ends = new != 0 || part.missing != 0;
                part.missing = 0;
                ends";
    }
    /// Client: a reply is matched by the number of the request alone, whichever client it is for.
    ClientIgnoresReceiver {
        choice "kits/multiget/client/replies.rs":
            "let found = «self.by_number.get(&(client, number)).copied()»;"
            => "let same = self.by_number.iter().filter(|((_, it), _)| *it == number);
                same.min_by_key(|(it, _)| **it).map(|(_, at)| *at)";
    }
    /// Client: a reply is accepted whatever keys it names.
    ClientTrustsPlaces {
        choice "kits/multiget/client/replies.rs": "|| «!names_keys_of(operation, &part, view)» {"
            => "false";
    }
    /// Client: the value of a key that is named twice is returned once.
    ClientAnswersRepeatsOnce {
        choice "kits/multiget/client/users.rs": "«operation.firsts.iter().map(value).collect()»"
            => "(0..operation.keys.len()).map(|first| value(&first)).collect()";
    }
    /// Client: an operation ends at its deadline with the answers so far.
    ClientEndsWithAPart {
        choice "kits/multiget/client/requests.rs": "} else {
            «self.give_up(slot);»" => "self.complete(now, slot, out);";
    }
    /// Client: only the first request of an operation is sent.
    ClientAsksOnce {
        choice "kits/multiget/client/requests.rs":
            "«self.config.architecture.divide(&mut operation, &self.config.layout);»"
            => "@ operation.parts.truncate(1); operation.open = 1;";
    }
    /// Client: a request that is sent again has another number.
    ClientNumbersRetriesAnew {
        always "kits/multiget/client/requests.rs":
            "    /// Ends an operation of which the effect is unknown.\n"
            => "    fn renumber(&mut self, slot: u32) {
                    let Some(operation) = self.operations.get_mut(slot) else { return };
                    for (at, part) in operation.parts.iter_mut().enumerate() {
                        self.by_number.remove(&(operation.client, part.number));
                        part.number = self.senders.take_again(operation.client).1;
                        self.by_number.insert((operation.client, part.number), (slot, at));
                    }
                }
                @";
        choice "kits/multiget/client/requests.rs": "«self.send(now, slot, out);»
        } else {" => "self.renumber(slot); @";
    }
    /// Client: a write that failed at the server counts as done.
    ClientTakesFailuresAsDone {
        choice "kits/multiget/client/replies.rs": "answer => «self.on_refused(now, slot, answer)»,"
            => "if matches!(answer, Answer::Failed) && !view.header().op.reads() {
                    self.complete(now, slot, out)
                } else {
                    @
                }";
    }
    /// Coordinator: a request is complete after as many entries as it has keys, whichever they are.
    CoordinatorCountsKeys {
        always "coordimc/task.rs": "    pub(super) missing: u128,\n"
            => "@ counted: usize,\n";
        always "coordimc/task.rs": "count, missing: 0« }»" => ", counted: 0 }";
        choice "coordimc/task.rs": "if «was_open && part.missing == 0» {"
            => "part.counted += view.entries().count();
                if part.counted >= part.count { part.missing = 0; }
                @";
    }
    /// Coordinator: a copy of a request under way is a request of its own.
    CoordinatorRepeatsRequests {
        choice "coordimc/coordinator.rs": "if let Some(slot) = «known» {" => "None";
    }
    /// Coordinator: requests are identified by their number alone, whichever client they are of.
    CoordinatorIgnoresClient {
        choice "coordimc/coordinator.rs": "self.by_request.get(&«(client, header.id)»)"
            => "(0, header.id)";
        choice "coordimc/coordinator.rs":
            "self.by_request.insert(«(client, header.id)», slot);" => "(0, header.id)";
        choice "coordimc/coordinator.rs":
            "self.by_request.remove(&«(task.client, task.header.id)»);" => "(0, task.header.id)";
    }
    /// Coordinator: requests to servers are sent once.
    CoordinatorAsksOnce {
        choice "coordimc/coordinator.rs": "«self.timers.set(task.timer, slot);»"
            => "@ if task.attempts > 1 { return; }";
    }
    /// Coordinator: requests are answered only when all keys are known.
    CoordinatorSendsNoPartialReplies {
        choice "coordimc/coordinator.rs":
            "«self.stats.replies += task.answer(copy, self.config.layout.fields, out);»" => "";
        choice "coordimc/coordinator.rs":
            "«self.stats.replies += task.answer(&task.header, self.config.layout.fields, out);»"
            => "";
    }
    /// Coordinator: the number of requests under way is not limited.
    CoordinatorTakesAll {
        choice "coordimc/coordinator.rs":
            "if «self.tasks.len() >= self.config.max_requests» {" => "false";
    }
]
}

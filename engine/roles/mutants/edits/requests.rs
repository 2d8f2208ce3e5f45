//! Requests in every protocol, and those with single keys.

use crate::choices::mutants;

mutants! {
/// Protections of requests in every protocol.
REQUESTS: [
    /// Server: a write that was seen before is carried out again.
    RepeatWrites {
        choice "kits/single_key/server/requests.rs": "if «seen != Seen::New» {" => "seen == Seen::Late";
        choice "kits/multiget/server/writes.rs": "if «seen != Seen::New» {" => "seen == Seen::Late";
    }
    /// Server: a write that is too old to be remembered is carried out as if it were new.
    RepeatLateWrites {
        choice "kits/single_key/server/requests.rs": "if «seen != Seen::New» {"
            => "@ && seen != Seen::Late";
        choice "kits/multiget/server/writes.rs": "if «seen != Seen::New» {"
            => "@ && seen != Seen::Late";
    }
    /// Server: a copy of a write gets no answer.
    LeaveCopiesUnanswered {
        choice "kits/single_key/server/requests.rs": "Seen::Ended(status) => «Some(status)»" => "None";
        choice "kits/multiget/server/writes.rs": "«self.answer_write(requester, name, answer, out);»"
            => "";
    }
    /// Server: a write is answered before the store has it.
    AnswerBeforeStored {
        choice "kits/single_key/server/requests.rs":
            "«out.call(&StoreCall { op, value, origin, ..StoreCall::get(id, *key) });»"
            => "@ out.send(&self.reply_to_write(key, write, Status::Ok));";
        choice "kits/write_back/writes.rs": "let newer = «write.tag.sequence.is_newer(stored)»;"
            => "if !restore {
                    let sequence = stored.later(write.tag.sequence);
                    self.answer_guarded(key, &write, Status::Ok, sequence, out);
                }
                @";
        choice "kits/multiget/server/writes.rs": "«self.waiting.entry(write.key).or_default();»"
            => "@ self.answer_write(&write.requester, &write.name, Answer::Ok, out);";
    }
    /// Server: a write that the store refused is answered as if it were done.
    AnswerFailuresAsDone {
        choice "kits/single_key/server/requests.rs": "StoreResult::Failed => «Status::Rejected»,"
            => "Status::Ok";
        choice "kits/multiget/server/writes.rs": "StoreResult::Failed => «Answer::Failed»,"
            => "Answer::Ok";
    }
    /// Server: a write does not wait for the pending operations on its key.
    OvertakeWrites {
        choice "kits/single_key/server/requests.rs": "match «self.keys.get_mut(key)» {" => "None";
        choice "kits/multiget/server/writes.rs": "match «self.waiting.get_mut(&key)» {" => "None";
    }
    /// Client: a request is sent once.
    RequestOnce {
        choice "kits/single_key/client/requests.rs": "if «now < request.deadline» {" => "false";
        choice "kits/multiget/client/requests.rs": "if «now < operation.deadline» {" => "false";
    }
]

/// Protections of servers and clients of single keys.
SINGLE_KEY: [
    /// Server: an answer of the switch is matched by key instead of request number.
    MatchAnswersByKey {
        choice "kits/single_key/server/pending.rs":
            "let pending = «self.open.get(&frame.request()).filter(|it| answers(it))»;"
            => "let open = self.open.values().any(answers);
                self.open.retain(|_, pending| !answers(pending));
                return open;";
    }
    /// Client: a reply is matched by key instead of request number.
    MatchRepliesByKey {
        choice "kits/single_key/client/requests.rs":
            "let found = «self.senders.owner(frame.sender(), frame.request())»;"
            => "let key = frame.key();
                (0..self.requests.len() as u32).find(|slot| {
                    let request = self.requests[*slot as usize].as_ref();
                    request.is_some_and(|it| it.operation.key == key)
                })";
    }
    /// Client: a write with unknown effect counts as done.
    ClientTakesUnknownAsDone {
        choice "kits/single_key/client/requests.rs":
            "Status::Unknown if !reads => «self.source.on_unknown(&mut request)»,"
            => "{
                self.note_answer(now, &mut request, frame);
                self.source.on_done(now, &request, true, hit, false);
            }";
    }
    /// Client: a retransmitted request is stamped with the incarnation at the time of the
    /// retransmission.
    ClientStampsRetriesAnew {
        choice "kits/single_key/client/requests.rs": "«self.send(now, slot, out);»
            return;"
            => "request.stamp = self.protocol.stamp(); @";
    }
]
}

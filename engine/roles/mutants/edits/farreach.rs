//! The server and the client of FarReach.

use crate::choices::mutants;

mutants! {
/// Protections of a server of FarReach.
SERVER: [
    /// Server: a write is stored although the stored record is newer.
    StoreUnguarded {
        choice "farreach/server/writes.rs": "let newer = «write.tag.sequence.is_newer(stored)»;"
            => "!restore || @";
    }
    /// Server: sequences are compared as plain numbers, not as serial numbers.
    PlainSequences {
        choice "farreach/server/writes.rs": "let newer = «write.tag.sequence.is_newer(stored)»;"
            => "let one = write.tag.sequence;
                (one.incarnation, one.number) > (stored.incarnation, stored.number)";
        choice "farreach/server/queries.rs": "if «it.sequence.is_newer(sequence)» =>"
            => "let one = it.sequence;
                (one.incarnation, one.number) > (sequence.incarnation, sequence.number)";
    }
    /// Server: a write without effect is not remembered by the store.
    ForgetGuarded {
        choice "farreach/server/writes.rs": "«(!restore)».then(" => "@ && newer";
    }
    /// Server: a delete leaves no tombstone.
    LeaveNoTombstones {
        choice "farreach/server/writes.rs":
            "let (value, sequence) = (&write.value, «Some(write.tag.sequence)»);"
            => "(!deletes).then_some(write.tag.sequence)";
    }
    /// Server: a record that is embedded in a read is ignored.
    IgnoreEmbedded {
        choice "farreach/server/queries.rs": "if «it.sequence.is_newer(sequence)» =>" => "false";
    }
    /// Server: a record that is embedded in a read is the answer although the stored one is newer.
    AnswerEmbedded {
        choice "farreach/server/queries.rs": "if «it.sequence.is_newer(sequence)» =>" => "true";
    }
    /// Server: a write of a past incarnation is carried out.
    DoPastWrites {
        choice "farreach/server/mod.rs": "let unknown = «past && is_new»;" => "false";
    }
    /// Server: the answer to a copy of a write lacks the stored sequence.
    LeaveCopiesUnnumbered {
        choice "farreach/server/queries.rs": "match «self.protocol.sequences.get(&frame.key())» {"
            => "Some(Sequence::default())";
    }
    /// Server: RESTORE overwrites a newer record.
    RestoreAnything {
        choice "farreach/server/writes.rs": "let newer = «write.tag.sequence.is_newer(stored)»;"
            => "restore || @";
    }
    /// Server: RESTORE is answered before the store has it.
    AnswerRestoreEarly {
        choice "farreach/server/writes.rs": "let newer = «write.tag.sequence.is_newer(stored)»;"
            => "if restore {
                    let sequence = stored.later(write.tag.sequence);
                    self.answer_guarded(key, &write, Status::Ok, sequence, out);
                }
                @";
    }
    /// Server: OFFER is sent once.
    OfferOnce {
        choice "farreach/server/mod.rs": "= «self.protocol.pending.again(now, request)» {"
            => "None";
    }
    /// Server: a key is offered although an offer of it is open.
    OfferAgain {
        choice "farreach/server/offers.rs": "|| «self.protocol.offers.by_key.contains_key(key)»"
            => "false";
    }
    /// Server: a key is offered again as soon as an offer of it was answered.
    NoCoolDownAfterOffers {
        choice "farreach/server/offers.rs":
            "«self.protocol.offers.by_key.insert(key, Offer::Answered);»"
            => "self.protocol.offers.by_key.remove(&key); return;";
    }
    /// Server: deleted records and records too large for the switch are offered.
    OfferAnything {
        choice "farreach/server/offers.rs": "«value.filter(|it| it.len() <= MAX_CACHED_VALUE)»"
            => "value.or(Some(&[]))";
    }
    /// Server: a tombstone may be dropped at any number of WATERMARKs after it was made.
    DropTombstonesAtAnyWatermark {
        choice "farreach/server/tombstones.rs":
            "let passed = «first.watermarks + WATERMARKS <= self.watermarks»;" => "true";
    }
    /// Server: tombstones need not be ten minutes old to be dropped.
    DropYoungTombstones {
        choice "farreach/server/tombstones.rs":
            "let old = «now.saturating_sub(first.made) >= FORGET»;" => "true";
    }
    /// Server: a copy of a WATERMARK counts.
    CountWatermarkCopies {
        choice "farreach/server/tombstones.rs": "&& «!is_newer(request, last)»" => "false";
        choice "farreach/server/tombstones.rs": "let early = «now < self.protocol.guard_until»;"
            => "false";
    }
    /// Server: a tombstone is dropped without checking that it is still stored.
    DropUnchecked {
        choice "farreach/server/tombstones.rs":
            "«self.get_for_step(&tombstone.key, Step::Checking(tombstone), out);»"
            => "self.drop_tombstone(tombstone, out);";
    }
]

/// Protections of a client of FarReach.
CLIENT: [
    /// Client: records that were read are not kept.
    ClientKeepsNoReads {
        choice "farreach/client/mod.rs": "if «!self.is_dirty(frame, stamp)» {" => "true";
    }
    /// Client: records that a server answered with for the switch are not kept.
    ClientKeepsNoEmbedded {
        choice "farreach/client/mod.rs": "«stamp.bits & bits::EMBEDDED != 0» || frame" => "false";
    }
    /// Client: records of deleted keys are not kept.
    ClientKeepsNoDeletes {
        choice "farreach/client/mod.rs": "«self.preserve(key, stamp.sequence, length, fill);»"
            => "if length.is_none() { return; } @";
        choice "farreach/client/mod.rs": "if «!self.is_dirty(frame, stamp)» {" => "@ || !found";
    }
    /// Client: an older record replaces a newer one.
    ClientKeepsOlder {
        choice "farreach/client/preserved.rs": "if «!sequence.is_newer(record.sequence)» {"
            => "false";
    }
    /// Client: a listed key is released, however old the listed record is.
    ClientReleasesNewer {
        choice "farreach/client/preserved.rs": "if «!record.sequence.is_newer(sequence)» {"
            => "true";
    }
    /// Client: an unlisted key is released at once.
    ClientReleasesUnlisted {
        choice "farreach/client/preserved.rs":
            "let old = «lists.wrapping_sub(record.since) >= LISTS»;" => "true";
    }
    /// Client: an unlisted key is released although the list before had it.
    ClientLooksAtOneList {
        choice "farreach/client/preserved.rs": "lists.wrapping_sub(record.listed) > «1»;" => "0";
    }
    /// Client: a key that is not cached any more is kept for ever.
    ClientKeepsUnlisted {
        choice "farreach/client/preserved.rs":
            "let old = «lists.wrapping_sub(record.since) >= LISTS»;" => "false";
    }
    /// Client: a list counts each time that it comes, and whenever it comes.
    ClientTakesOldLists {
        choice "farreach/client/release.rs": "if «old» {" => "false";
    }
    /// Client: lists are counted by snapshot numbers, although some snapshots have no list.
    ClientCountsSnapshots {
        always "farreach/client/preserved.rs":
            "    /// Releases a record up to this sequence, which is durable.\n"
            => "    pub(super) fn count_to(&mut self, lists: u32) {
                    self.lists = lists;
                }
                @";
        choice "farreach/client/registration.rs":
            "Taken::Complete => «records.release(self.list.drain())»,"
            => "records.count_to(snapshot.wrapping_sub(1)); @";
    }
    /// Client: a list counts as complete although a part is missing.
    ClientReleasesWithoutAPart {
        choice "farreach/client/release.rs": "if self.missing > «0» {" => "1";
    }
    /// Client: parts of several lists are taken for those of one.
    ClientMixesLists {
        choice "farreach/client/release.rs":
            "if !is_newer(number, current) => «return Taken::Noted»," => "";
        choice "farreach/client/release.rs": "_ => «self.begin(number, parts)»,"
            => "if self.current.is_none() { @ }";
    }
    /// Client: HELLO is sent once.
    ClientHellosOnce {
        choice "farreach/client/registration.rs": "if «now >= until» {"
            => "@ || self.attempts > 0";
    }
    /// Client: records are dropped when COLLECT is answered.
    ClientDropsAtCollect {
        choice "farreach/client/registration.rs":
            "Op::Collect => «self.collect(frame, stamp.sequence, records, out)»,"
            => "let before = self.collected;
                @;
                if self.collected != before { records.clear(); }";
    }
    /// Client: each COLLECT of a recovery reports what is preserved at that moment.
    ClientCollectsAnew {
        choice "farreach/client/registration.rs": "if «self.collected != incarnation» {
            self.collected = incarnation;
            self.learn(incarnation);" => "true";
    }
    /// Client: COLLECT also reports records of the new incarnation.
    ClientCollectsTheNewIncarnation {
        choice "farreach/client/registration.rs":
            "let lost = |of: u32| «is_newer(incarnation, of)»;" => "true";
    }
    /// Client: a COLLECT of an earlier recovery is answered, too.
    ClientAnswersEarlierCollects {
        choice "farreach/client/registration.rs": "number: from } = wanted;
        if «self.is_outdated(incarnation)» {" => "false";
    }
    /// Client: RECOVERED of any incarnation releases what was reported.
    ClientReleasesForAnyIncarnation {
        choice "farreach/client/registration.rs": "if «self.is_outdated(incarnation)» {
            return;
        }
        self.learn(incarnation);" => "false";
        choice "farreach/client/registration.rs": "if «self.collected != incarnation» {
            // No records" => "false";
    }
    /// Client: RECOVERED releases also records that are newer than what was reported.
    ClientReleasesWhatIsNewer {
        choice "farreach/client/registration.rs": "records.remove_up_to(key, «sequence»);"
            => "Sequence { incarnation: incarnation.wrapping_add(1), number: 0 }";
    }
    /// Client: answers of a failed switch are accepted.
    ClientTakesPastAnswers {
        choice "farreach/client/mod.rs":
            "&& «self.registration.is_past(stamp.sequence.incarnation)»;" => "false";
    }
    /// Client: an answer of a failed switch is ignored although the server has its record, too.
    ClientIgnoresCleanRecords {
        choice "farreach/client/mod.rs": "let past = «(dirty || frame.op() != Op::GetReply)»"
            => "true";
    }
    /// Client: a record counts as of a failed switch when the incarnation was raised.
    ClientIgnoresRaises {
        choice "farreach/client/registration.rs":
            "«self.collected != 0 && is_newer(self.collected, incarnation)»"
            => "self.incarnation != 0 && is_newer(self.incarnation, incarnation)";
    }
    /// Client: records that only the switch has are accepted before HELLO is answered.
    ClientAcceptsBeforeHello {
        choice "farreach/client/mod.rs": "dirty && «!self.registration.is_registered()»;"
            => "false";
    }
]
}

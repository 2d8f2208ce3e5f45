//! The client of FarReach.

use crate::choices::mutants;

mutants! {
/// Protections of a client of FarReach.
CLIENT: [
    /// Client: records that were read are not kept.
    ClientKeepsNoReads {
        choice "farreach/mod.rs": "if «!self.is_dirty(frame, stamp)» {" => "true";
    }
    /// Client: records that a server answered with for the switch are not kept.
    ClientKeepsNoEmbedded {
        choice "farreach/mod.rs": "«stamp.bits & bits::EMBEDDED != 0» || frame" => "false";
    }
    /// Client: records of deleted keys are not kept.
    ClientKeepsNoDeletes {
        choice "farreach/mod.rs": "«self.preserve(key, stamp.sequence, length, fill);»"
            => "if length.is_none() { return; } @";
        choice "farreach/mod.rs": "if «!self.is_dirty(frame, stamp)» {" => "@ || !found";
    }
    /// Client: an older record replaces a newer one.
    ClientKeepsOlder {
        choice "farreach/preserved.rs": "if «!sequence.is_newer(record.sequence)» {"
            => "false";
    }
    /// Client: a listed key is released, however old the listed record is.
    ClientReleasesNewer {
        choice "farreach/preserved.rs": "if «!record.sequence.is_newer(sequence)» {"
            => "true";
    }
    /// Client: an unlisted key is released at once.
    ClientReleasesUnlisted {
        choice "farreach/preserved.rs":
            "let old = «lists.wrapping_sub(record.since) >= LISTS»;" => "true";
    }
    /// Client: an unlisted key is released although the list before had it.
    ClientLooksAtOneList {
        choice "farreach/preserved.rs": "lists.wrapping_sub(record.listed) > «1»;" => "0";
    }
    /// Client: a key that is not cached any more is kept for ever.
    ClientKeepsUnlisted {
        choice "farreach/preserved.rs":
            "let old = «lists.wrapping_sub(record.since) >= LISTS»;" => "false";
    }
    /// Client: a list counts each time that it comes, and whenever it comes.
    ClientTakesOldLists {
        choice "farreach/release.rs": "if «old» {" => "false";
    }
    /// Client: lists are counted by snapshot numbers, although some snapshots have no list.
    ClientCountsSnapshots {
        always "farreach/preserved.rs":
            "    /// Releases a record up to this sequence, which is durable.\n"
            => "    pub(super) fn count_to(&mut self, lists: u32) {
                    self.lists = lists;
                }
                @";
        choice "farreach/registration.rs":
            "Taken::Complete => «records.release(self.list.drain())»,"
            => "records.count_to(snapshot.wrapping_sub(1)); @";
    }
    /// Client: a list counts as complete although a part is missing.
    ClientReleasesWithoutAPart {
        choice "farreach/release.rs": "if self.missing > «0» {" => "1";
    }
    /// Client: parts of several lists are taken for those of one.
    ClientMixesLists {
        choice "farreach/release.rs":
            "if !is_newer(number, current) => «return Taken::Noted»," => "";
        choice "farreach/release.rs": "_ => «self.begin(number, parts)»,"
            => "if self.current.is_none() { @ }";
    }
    /// Client: HELLO is sent once.
    ClientHellosOnce {
        choice "farreach/registration.rs": "if «now >= until» {"
            => "@ || self.attempts > 0";
    }
    /// Client: records are dropped when COLLECT is answered.
    ClientDropsAtCollect {
        choice "farreach/registration.rs":
            "Op::Collect => «self.collect(frame, stamp.sequence, records, out)»,"
            => "let before = self.collected;
                @;
                if self.collected != before { records.clear(); }";
    }
    /// Client: each COLLECT of a recovery reports what is preserved at that moment.
    ClientCollectsAnew {
        choice "farreach/registration.rs": "if «self.collected != incarnation» {
            self.collected = incarnation;
            self.learn(incarnation);" => "true";
    }
    /// Client: COLLECT also reports records of the new incarnation.
    ClientCollectsTheNewIncarnation {
        choice "farreach/registration.rs":
            "let lost = |of: u32| «is_newer(incarnation, of)»;" => "true";
    }
    /// Client: a COLLECT of an earlier recovery is answered, too.
    ClientAnswersEarlierCollects {
        choice "farreach/registration.rs": "number: from } = wanted;
        if «self.is_outdated(incarnation)» {" => "false";
    }
    /// Client: RECOVERED of any incarnation releases what was reported.
    ClientReleasesForAnyIncarnation {
        choice "farreach/registration.rs": "if «self.is_outdated(incarnation)» {
            return;
        }
        self.learn(incarnation);" => "false";
        choice "farreach/registration.rs": "if «self.collected != incarnation» {
            // No records" => "false";
    }
    /// Client: RECOVERED releases also records that are newer than what was reported.
    ClientReleasesWhatIsNewer {
        choice "farreach/registration.rs": "records.remove_up_to(key, «sequence»);"
            => "Sequence { incarnation: incarnation.wrapping_add(1), number: 0 }";
    }
    /// Client: answers of a failed switch are accepted.
    ClientTakesPastAnswers {
        choice "farreach/mod.rs":
            "&& «self.registration.is_past(stamp.sequence.incarnation)»;" => "false";
    }
    /// Client: an answer of a failed switch is ignored although the server has its record, too.
    ClientIgnoresCleanRecords {
        choice "farreach/mod.rs": "let past = «(dirty || frame.op() != Op::GetReply)»"
            => "true";
    }
    /// Client: a record counts as of a failed switch when the incarnation was raised.
    ClientIgnoresRaises {
        choice "farreach/registration.rs":
            "«self.collected != 0 && is_newer(self.collected, incarnation)»"
            => "self.incarnation != 0 && is_newer(self.incarnation, incarnation)";
    }
    /// Client: records that only the switch has are accepted before HELLO is answered.
    ClientAcceptsBeforeHello {
        choice "farreach/mod.rs": "dirty && «!self.registration.is_registered()»;"
            => "false";
    }
]
}

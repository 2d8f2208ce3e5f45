//! The server of a write-back cache.

use crate::choices::mutants;

mutants! {
/// Protections of a server of a write-back cache.
WRITE_BACK: [
    /// Server: a write is stored although the stored record is newer.
    StoreUnguarded {
        choice "kits/write_back/writes.rs": "let newer = «write.tag.sequence.is_newer(stored)»;"
            => "!restore || @";
    }
    /// Server: sequences are compared as plain numbers, not as serial numbers.
    PlainSequences {
        choice "kits/write_back/writes.rs": "let newer = «write.tag.sequence.is_newer(stored)»;"
            => "let one = write.tag.sequence;
                (one.incarnation, one.number) > (stored.incarnation, stored.number)";
        choice "kits/write_back/queries.rs": "if «it.sequence.is_newer(sequence)» =>"
            => "let one = it.sequence;
                (one.incarnation, one.number) > (sequence.incarnation, sequence.number)";
    }
    /// Server: a write without effect is not remembered by the store.
    ForgetGuarded {
        choice "kits/write_back/writes.rs": "«(!restore)».then(" => "@ && newer";
    }
    /// Server: a delete leaves no tombstone.
    LeaveNoTombstones {
        choice "kits/write_back/writes.rs":
            "let (value, sequence) = (&write.value, «Some(write.tag.sequence)»);"
            => "(!deletes).then_some(write.tag.sequence)";
    }
    /// Server: a record that is embedded in a read is ignored.
    IgnoreEmbedded {
        choice "kits/write_back/queries.rs": "if «it.sequence.is_newer(sequence)» =>" => "false";
    }
    /// Server: a record that is embedded in a read is the answer although the stored one is newer.
    AnswerEmbedded {
        choice "kits/write_back/queries.rs": "if «it.sequence.is_newer(sequence)» =>" => "true";
    }
    /// Server: a write of a past incarnation is carried out.
    DoPastWrites {
        choice "kits/write_back/mod.rs": "let unknown = «past && is_new»;" => "false";
    }
    /// Server: the answer to a copy of a write lacks the stored sequence.
    LeaveCopiesUnnumbered {
        choice "kits/write_back/queries.rs": "match «self.protocol.sequences.get(&frame.key())» {"
            => "Some(Sequence::default())";
    }
    /// Server: RESTORE overwrites a newer record.
    RestoreAnything {
        choice "kits/write_back/writes.rs": "let newer = «write.tag.sequence.is_newer(stored)»;"
            => "restore || @";
    }
    /// Server: RESTORE is answered before the store has it.
    AnswerRestoreEarly {
        choice "kits/write_back/writes.rs": "let newer = «write.tag.sequence.is_newer(stored)»;"
            => "if restore {
                    let sequence = stored.later(write.tag.sequence);
                    self.answer_guarded(key, &write, Status::Ok, sequence, out);
                }
                @";
    }
    /// Server: OFFER is sent once.
    OfferOnce {
        choice "kits/write_back/offering.rs": "= «self.protocol.pending.again(now, request)» {"
            => "None";
    }
    /// Server: a key is offered although an offer of it is open.
    OfferAgain {
        choice "kits/write_back/offering.rs": "|| «self.protocol.offers.by_key.contains_key(key)»"
            => "false";
    }
    /// Server: a key is offered again as soon as an offer of it was answered.
    NoCoolDownAfterOffers {
        choice "kits/write_back/offering.rs":
            "«self.protocol.offers.by_key.insert(key, Offer::Answered);»"
            => "self.protocol.offers.by_key.remove(&key); return;";
    }
    /// Server: deleted records and records too large for the switch are offered.
    OfferAnything {
        choice "kits/write_back/offering.rs": "«value.filter(|it| it.len() <= MAX_CACHED_VALUE)»"
            => "value.or(Some(&[]))";
    }
    /// Server: a tombstone may be dropped at any number of WATERMARKs after it was made.
    DropTombstonesAtAnyWatermark {
        choice "kits/write_back/tombstones.rs":
            "let passed = «first.watermarks + WATERMARKS <= self.watermarks»;" => "true";
    }
    /// Server: tombstones need not be ten minutes old to be dropped.
    DropYoungTombstones {
        choice "kits/write_back/tombstones.rs":
            "let old = «now.saturating_sub(first.made) >= FORGET»;" => "true";
    }
    /// Server: a copy of a WATERMARK counts.
    CountWatermarkCopies {
        choice "kits/write_back/tombstones.rs": "&& «!is_newer(request, last)»" => "false";
        choice "kits/write_back/dropping.rs": "let early = «now < self.protocol.guard_until»;"
            => "false";
    }
    /// Server: a tombstone is dropped without checking that it is still stored.
    DropUnchecked {
        choice "kits/write_back/dropping.rs":
            "«self.get_for_step(&tombstone.key, Step::Checking(tombstone), out);»"
            => "self.drop_tombstone(tombstone, out);";
    }
]
}

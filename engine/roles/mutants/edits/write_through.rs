//! The server of a write-through cache, with one layer of switches and with two.

use crate::choices::mutants;

mutants! {
/// Protections of a server of a write-through cache.
WRITE_THROUGH: [
    /// Server: a write without cache metadata is fast although its key is cached.
    TrustWritesWithoutMetadata {
        choice "kits/write_through/coherence.rs": "(Some(_), None) => «false»" => "true";
    }
    /// Server: a write with cache metadata is fast although its key has no record.
    TrustMetadataWithoutRecord {
        choice "kits/write_through/coherence.rs": "(None, Some(_)) => «false»" => "true";
    }
    /// Server: a write is fast although its version is not newer than the last pushed one.
    TrustOldVersions {
        choice "kits/write_through/coherence.rs": "&& «is_newer(metadata.version, record.pushed)»
            }" => "true";
    }
    /// Server: a write is fast although its cache metadata is of another insertion.
    TrustOtherGenerations {
        choice "kits/write_through/coherence.rs": "«metadata.generation == record.generation»
                    &&" => "true";
    }
    /// Server: versions are compared as plain numbers, not as serial numbers.
    PlainVersions {
        choice "kits/write_through/coherence.rs": "&& «is_newer(metadata.version, record.pushed)»
            }" => "metadata.version > record.pushed";
    }
    /// Server: writes without cache metadata are fast from the start on.
    NoGuardTime {
        choice "kits/write_through/coherence.rs": "(None, None) => «!tag.guarded»" => "true";
    }
    /// Server: a read or copy of a write with cache metadata does not refresh the entry.
    NoRefresh {
        choice "kits/write_through/coherence.rs": "!served || «self.keys.contains_key(key)»" => "true";
    }
    /// Server: a value is pushed although it does not fit the entry.
    PushAnySize {
        choice "kits/write_through/coherence.rs": "if «value.len() <= room» =>" => "true";
    }
    /// Server: UPDATE is sent once.
    UpdateOnce {
        choice "kits/write_through/requests.rs": "= «(pending.upper, pending.attempts())»;"
            => "if pending.op == Op::Update { return; } @";
    }
    /// Server: INVALIDATE is sent once.
    InvalidateOnce {
        choice "kits/write_through/requests.rs": "= «(pending.upper, pending.attempts())»;"
            => "if pending.op == Op::Invalidate { return; } @";
    }
    /// Server: OUTGROWN is sent once.
    OutgrownOnce {
        choice "kits/write_through/requests.rs": "= «(pending.upper, pending.attempts())»;"
            => "if pending.op == Op::Outgrown { return; } @";
    }
    /// Server: a copy of a message of the controller is carried out again.
    RepeatControl {
        choice "kits/write_through/control.rs": "match «window.look(control.request, second)» {"
            => "Seen::New";
    }
    /// Server: EVICTED drops the record of its key, whichever insertion it is about.
    EvictAnyGeneration {
        choice "kits/write_through/control.rs": "|generation: u32| «generation == control.generation»"
            => "true";
    }
    /// Server: ADMIT holds writes until INSTALL, however long that takes.
    HoldForEver {
        choice "kits/write_through/control.rs": "let until = «now + self.config.protocol.lease»;"
            => "Nanos::MAX";
    }
    /// Server: ADMIT holds no writes.
    HoldNothing {
        choice "kits/write_through/control.rs": "if «status == Status::Ok» {" => "false";
    }
]

/// Protections of a server with an upper layer of switches.
UPPER_LAYER: [
    /// Server: a write does not invalidate the entry of the upper layer.
    ForgetUpperCopies {
        choice "kits/write_through/coherence.rs":
            "let cached = «self.protocol.records[Layer::Upper].contains_key(key)»;" => "false";
    }
    /// Server: after its start, writes of keys without a record of the upper layer are fast.
    NoLearning {
        choice "kits/write_through/coherence.rs": "if cached || «!self.protocol.layers.knows_upper()» {" => "false";
    }
    /// Server: RESTARTED is sent once.
    RestartedOnce {
        choice "kits/write_through/requests.rs": "= «(pending.upper, pending.attempts())»;"
            => "if pending.op == Op::Restarted { return; } @";
    }
    /// Server: it waits for an upper switch, however long that is silent.
    WaitForEver {
        choice "distcache/upper_layer.rs": "if «tries >= SILENT_AFTER» {" => "false";
    }
]
}

//! The data plane rejects invalid programs.

use crate::common;
use common::{ProgramBuilder, straight};

use netkv_dataplane::Switch;
use netkv_ir::*;

#[test]
fn an_invalid_program_is_rejected() {
    let load_error = |change: fn(&mut Program)| {
        let mut build = ProgramBuilder::new();
        change(&mut build.program);
        let program = std::sync::Arc::new(build.program);
        let options = netkv_dataplane::SwitchOptions::default();
        Switch::new(program, options).err().expect("an error").to_string()
    };
    let text = load_error(|p| p.egress = straight(vec![Op::ZeroWords { to: 3, words: 9_000 }]));
    assert_eq!(
        text,
        "hand.p4: egress, block 0: operation 0: words 3 to 3 + 9000 lie outside of the state area."
    );
    let text = load_error(|p| p.ingress.blocks[0].terminator = Terminator::Jump(4));
    assert_eq!(text, "hand.p4: ingress, block 0: there is no block 4.");
    let text = load_error(|p| {
        let to = p.standard_metadata.egress_spec;
        p.ingress = straight(vec![Op::Assign { to, value: common::constant(8, 1) }]);
    });
    assert_eq!(text, "hand.p4: ingress, block 0: operation 0: 8 bits where 9 are needed.");
}

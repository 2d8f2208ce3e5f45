//! The traps of multigets (`docs/testing.md`) in all three architectures: real clients, servers and
//! coordinator, each frame handed over by hand, and a switch that does what the paper says.
//!
//! Every trap is a test. It plays its script as everything is, where no user may suffer: over the
//! programs that ship, on the interpreter and on machine code, and over a switch that follows the
//! paper line by line. Then it plays once for each of its protections without that protection, where users must. A last test plays every
//! script without every protection and demands that exactly the traps in the table fail (but for
//! protections without which nearly nothing works).

mod rack;
mod random;
mod scripts;
mod switch;

use std::collections::BTreeSet;

use crate::Architecture::{self, CliMc, CoordiMc, NetMc};
use netkv_roles::multiget::Layout;
use netkv_roles::multiget::mutation;
use netkv_roles::{MILLISECOND, Mutation, SECOND};
use netkv_wire::client_ip;
use netkv_wire::multiget::{Addresses, Header, Op, group, splitter_ip, write_keys};
use netkv_workload::Random;

use netkv_compiled::ExecutorKind;
use rack::{Harm, Rack, Setup};
use switch::{Kind, Switch};

const INTERPRETED: Kind = Kind::Program(ExecutorKind::Interpreter);
const COMPILED: Kind = Kind::Program(ExecutorKind::Compiled);

type Mutants = &'static [(Mutation, Harm, &'static [Architecture])];

/// A trap: what happens in which architectures, and who falls into it.
struct Trap {
    name: &'static str,
    script: fn(&mut Rack),
    setup: fn() -> Setup,
    architectures: &'static [Architecture],
    /// Without one of its protections, what users suffer from then, and where.
    mutants: Mutants,
    /// Without these it fails too, somewhere: they protect what its script takes for granted.
    also: &'static [Mutation],
}

impl Trap {
    fn play(
        &self,
        architecture: Architecture,
        mutation: Option<Mutation>,
        kind: Kind,
    ) -> BTreeSet<Harm> {
        let mut rack = Rack::new(architecture, (self.setup)(), mutation, kind);
        (self.script)(&mut rack);
        rack.harm
    }

    fn check(&self) {
        for architecture in self.architectures {
            for kind in [Kind::Paper, INTERPRETED, COMPILED] {
                let harm = self.play(*architecture, None, kind);
                let what = format!("{architecture:?}, {kind:?}");
                assert!(harm.is_empty(), "with all protections, {what}: {harm:?}");
            }
        }
        for (mutation, harm, architectures) in self.mutants {
            for architecture in *architectures {
                let found = self.play(*architecture, Some(*mutation), INTERPRETED);
                let what = format!("{mutation:?}, {architecture:?}");
                assert!(found.contains(harm), "{what}: expected {harm:?}, found {found:?}");
            }
        }
    }

    fn suffers(&self, mutation: Mutation) -> bool {
        self.architectures.iter().any(|it| !self.play(*it, Some(mutation), Kind::Paper).is_empty())
    }
}

fn usual() -> Setup {
    Setup::default()
}

fn sixteen_servers() -> Setup {
    Setup { servers: 16, ..Setup::default() }
}

fn end_of_numbers() -> Setup {
    Setup { first_request: u32::MAX - 3, ..Setup::default() }
}

/// The client would have given up long before the coordinator does.
fn patient() -> Setup {
    Setup { coordinator_deadline: 10 * SECOND, ..Setup::default() }
}

fn four_at_a_time() -> Setup {
    Setup { max_requests: 4, coordinator_deadline: 50 * MILLISECOND, ..Setup::default() }
}

macro_rules! traps {
    ($($name:ident: $script:ident, $setup:ident, $architectures:expr,
        [$($mutation:ident => $harm:ident in $where:expr),* $(,)?]
        $(, also [$($also:ident),+ $(,)?])?;)+) => {
        const TRAPS: &[Trap] = &[$(Trap {
            name: stringify!($name),
            script: scripts::$script,
            setup: $setup,
            architectures: $architectures,
            mutants: &[$((mutation::$mutation, Harm::$harm, $where)),*],
            also: &[$($(mutation::$also),+)?],
        }),+];
        $(
            #[test]
            fn $name() {
                let trap = TRAPS.iter().find(|trap| trap.name == stringify!($name));
                trap.expect("every trap is in the table").check();
            }
        )+
    };
}

const ALL: &[Architecture] = &[NetMc, CliMc, CoordiMc];
const SWITCH: &[Architecture] = &[NetMc];
const COORDINATOR: &[Architecture] = &[CoordiMc];

traps! {
    copies_of_replies_do_not_end_a_request: copies_of_replies, usual, ALL,
        [ClientCountsKeys => WrongValue in ALL, ClientTakesFirstReply => WrongValue in ALL];
    copies_of_replies_do_not_end_a_request_at_the_coordinator:
        copies_of_replies_to_the_coordinator, usual, COORDINATOR,
        [CoordinatorCountsKeys => WrongOutcome in COORDINATOR];
    lost_reply_is_asked_for_again_and_no_other: lost_replies, usual, ALL,
        [RequestOnce => NoAnswer in ALL];
    lost_request_is_sent_again: lost_requests, usual, ALL, [RequestOnce => NoAnswer in ALL];
    request_lost_behind_the_coordinator_is_sent_again:
        requests_lost_behind_the_coordinator, patient, COORDINATOR,
        [CoordinatorAsksOnce => NoAnswer in COORDINATOR];
    replies_in_another_order_are_put_where_they_belong: replies_in_another_order, usual, ALL,
        [ClientAppendsReplies => WrongValue in ALL];
    keys_that_are_not_there_are_answered: keys_that_are_not_there, usual, ALL,
        [ClientIgnoresAbsent => NoAnswer in ALL];
    one_key_is_a_group: one_key, usual, ALL, [ClientEndsNoLastGroup => NoAnswer in SWITCH];
    sixteen_keys_of_one_server_are_one_group: sixteen_keys_on_one_server, usual, ALL,
        [ClientTakesFirstReply => WrongValue in ALL, ClientEndsNoLastGroup => NoAnswer in SWITCH];
    sixteen_keys_of_16_servers_are_16_groups: sixteen_keys_on_16_servers, sixteen_servers, ALL,
        [ServerReadsAllKeys => WrongValue in SWITCH, ClientEndsNoLastGroup => NoAnswer in SWITCH];
    more_than_16_keys_are_several_requests_to_a_switch: more_than_16_keys, usual, ALL,
        [ClientAsksOnce => WrongValue in SWITCH];
    keys_above_the_size_of_a_frame_are_several_requests: keys_of_two_frames, usual, ALL,
        [ClientAsksOnce => WrongValue in ALL];
    large_request_survives_losses_copies_and_reordering: large_request, usual, ALL,
        [RequestOnce => NoAnswer in ALL, ClientCountsKeys => WrongValue in ALL];
    large_request_survives_losses_copies_and_reordering_at_the_coordinator:
        large_request_behind_the_coordinator, patient, COORDINATOR,
        [CoordinatorCountsKeys => WrongOutcome in COORDINATOR,
            CoordinatorAsksOnce => NoAnswer in COORDINATOR];
    large_request_ends_as_a_whole_and_names_the_server_that_is_down:
        large_request_with_a_server_down, patient, ALL,
        [ClientEndsWithAPart => WrongOutcome in ALL,
            CoordinatorTellsNoPart => WrongMissing in COORDINATOR],
        also [RequestOnce, ClientNumbersRetriesAnew, ClientCountsKeys, CoordinatorIgnoresClient,
            CoordinatorRepeatsRequests];
    large_request_is_answered_by_the_next_coordinator: large_request_and_two_coordinators, usual,
        COORDINATOR, [RequestOnce => NoAnswer in COORDINATOR];
    repeated_key_is_asked_for_once_and_answered_each_time: repeated_key, usual, ALL,
        [ClientAnswersRepeatsOnce => WrongValue in ALL];

    numbers_wrap_with_requests_under_way: numbers_that_wrap, end_of_numbers, ALL,
        [ServerPlainNumbers => NoAnswer in ALL],
        also [ClientIgnoresReceiver, CoordinatorIgnoresClient];
    writes_go_on_when_numbers_wrap: writes_around_the_wrap, end_of_numbers, ALL,
        [ServerPlainNumbers => NoAnswer in ALL];
    clients_may_have_the_same_numbers: two_clients_with_one_number, usual, ALL,
        [ClientIgnoresReceiver => NoAnswer in ALL,
            CoordinatorIgnoresClient => NoAnswer in COORDINATOR];
    reply_to_an_older_request_of_the_same_number_is_not_taken: reply_of_another_life, usual, ALL,
        [ClientTrustsPlaces => WrongValue in ALL];

    one_server_down_ends_the_whole_and_is_named: one_server_down, usual, ALL,
        [ClientEndsWithAPart => WrongOutcome in ALL,
            CoordinatorTellsNoPart => WrongMissing in COORDINATOR],
        also [RequestOnce, ClientNumbersRetriesAnew];
    store_that_fails_is_not_taken_for_one_without_the_key: store_that_fails, usual, ALL,
        [ServerTakesFailuresForAbsent => WrongOutcome in ALL,
            AnswerFailuresAsDone => WrongOutcome in ALL,
            ClientTakesFailuresAsDone => WrongOutcome in ALL],
        also [CoordinatorIgnoresClient, AnswerBeforeStored];

    late_copy_of_a_write_has_no_effect: late_copy_of_a_write, usual, ALL,
        [RepeatWrites => WrongEffect in ALL],
        also [ServerNumbersByCoordinator];
    late_copy_of_a_delete_has_no_effect: late_copy_of_a_delete, usual, ALL,
        [RepeatWrites => WrongEffect in ALL],
        also [ServerNumbersByCoordinator];
    late_copy_from_before_the_window_has_no_effect: late_copy_from_before_the_window, usual, ALL,
        [RepeatLateWrites => WrongEffect in ALL],
        also [ServerNumbersByCoordinator];
    write_that_is_repeated_has_one_effect_and_is_answered: write_whose_answer_was_lost, usual, ALL,
        [ClientNumbersRetriesAnew => WrongEffect in ALL, RepeatWrites => WrongEffect in ALL,
            LeaveCopiesUnanswered => NoAnswer in ALL, RequestOnce => NoAnswer in ALL],
        also [ClientIgnoresReceiver, ServerNumbersByCoordinator];
    write_that_is_repeated_after_its_server_was_restarted_has_one_effect:
        write_before_its_server_was_restarted, usual, ALL,
        [ClientNumbersRetriesAnew => WrongEffect in ALL, RepeatWrites => WrongEffect in ALL],
        also [RequestOnce, ClientIgnoresReceiver, LeaveCopiesUnanswered, ServerNumbersByCoordinator];
    write_that_is_repeated_after_the_coordinator_was_restarted_has_one_effect:
        write_before_the_coordinator_was_restarted, usual, COORDINATOR,
        [ServerNumbersByCoordinator => WrongEffect in COORDINATOR],
        also [RequestOnce, ClientIgnoresReceiver, RepeatWrites, ClientNumbersRetriesAnew, LeaveCopiesUnanswered];
    write_is_answered_only_when_it_is_stored: store_that_is_slow, usual, ALL,
        [AnswerBeforeStored => WrongEffect in ALL],
        also [RequestOnce, CoordinatorAsksOnce];
    writes_of_one_key_are_done_in_order: two_writes_of_one_key, usual, ALL,
        [OvertakeWrites => WrongEffect in ALL],
        also [CoordinatorIgnoresClient];
    keys_of_the_store_itself_are_refused: reserved_key, usual, ALL,
        [ServerTakesReservedKeys => WrongEffect in ALL],
        also [CoordinatorIgnoresClient];

    coordinator_refuses_more_than_it_can_do: coordinator_with_too_much_to_do, four_at_a_time,
        COORDINATOR, [CoordinatorTakesAll => Unlimited in COORDINATOR],
        also [RequestOnce, CoordinatorAsksOnce];
    copy_of_a_request_under_way_is_answered_with_it: copy_of_a_request_under_way, usual, ALL,
        [CoordinatorRepeatsRequests => Flood in COORDINATOR];
}

#[test]
fn the_program_splits_requests_as_the_paper_does() {
    let mut random = Random::new(7, 7);
    for servers in [1, 2, 5, 16, 32] {
        let layout = Layout::one_rack(servers.into(), 16);
        let addresses =
            Addresses { source: client_ip(1), destination: splitter_ip(1), fields: layout.fields };
        let switch = |kind| Switch::new(kind, NetMc, servers);
        let (mut paper, mut program) = (switch(Kind::Paper), switch(INTERPRETED));
        for number in 0..200 {
            let keys = 1 + random.below(16) as usize;
            let mut owners: Vec<u8> =
                (0..keys).map(|_| random.below(servers.into()) as u8).collect();
            owners.sort_unstable();
            let groups = group(owners);
            let header = Header::request(Op::Mget, number, keys as u8, &groups);
            let mut frame = Vec::new();
            let names = vec![&b"some key"[..]; keys];
            write_keys(&mut frame, &addresses, &Header { rack: 1, ..header }, names, None);
            let (mut expected, mut found) = (paper.process(&frame), program.process(&frame));
            assert_eq!(expected.len(), usize::from(groups.count), "a sub-request for each group");
            expected.sort_unstable();
            found.sort_unstable();
            assert_eq!(found, expected, "{servers} servers, {keys} keys");
        }
    }
}

#[test]
fn server_that_forgets_what_it_has_applied_does_writes_twice() {
    for architecture in ALL {
        let mut rack = Rack::new(*architecture, usual(), None, INTERPRETED);
        scripts::write_before_its_server_was_restarted_without_memory(&mut rack);
        assert!(rack.harm.contains(&Harm::WrongEffect), "{architecture:?}: {:?}", rack.harm);
    }
}

/// Without these nearly nothing works, so most traps fail, some of them for nobody's good.
const FUNDAMENTAL: &[Mutation] = &[
    mutation::ClientTakesFirstReply,
    mutation::ClientAppendsReplies,
    mutation::ClientEndsNoLastGroup,
    mutation::ClientAsksOnce,
    mutation::ServerReadsAllKeys,
];

#[test]
fn without_a_protection_exactly_the_traps_in_the_table_fail() {
    let mut wrong = String::new();
    for mutation in TRAPS.iter().flat_map(|trap| trap.mutants.iter().map(|(it, ..)| *it)) {
        for trap in TRAPS {
            let own = trap.mutants.iter().any(|(it, ..)| *it == mutation);
            if FUNDAMENTAL.contains(&mutation) && !own {
                continue;
            }
            let may_fail = own || trap.also.contains(&mutation);
            if may_fail != trap.suffers(mutation) {
                let line = format!("{}: {mutation:?}\n", trap.name);
                if !wrong.contains(&line) {
                    wrong += &line;
                }
            }
        }
    }
    assert!(wrong.is_empty(), "other than the table says:\n{wrong}");
}

#[test]
fn every_protection_of_multigets_has_a_trap() {
    for mutation in mutation::MULTIGET {
        let has = TRAPS.iter().any(|trap| trap.mutants.iter().any(|(it, ..)| it == mutation));
        assert!(has, "no trap for {mutation:?}");
    }
}

#[test]
fn the_documentation_has_every_trap_with_its_mutants() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/testing.md");
    let text = std::fs::read_to_string(file).unwrap();
    for trap in TRAPS {
        let mut rows =
            text.lines().filter(|line| line.starts_with(&format!("| `{}` |", trap.name)));
        let has_all =
            |row: &str| trap.mutants.iter().all(|(it, ..)| row.contains(&format!("`{it:?}`")));
        assert!(rows.any(has_all), "docs/testing.md: no row for {}", trap.name);
    }
}

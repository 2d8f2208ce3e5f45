//! The traps of multigets (`docs/internals/traps.md`) in all three architectures: real clients,
//! servers and coordinator, and a switch; a script delivers each frame.
//!
//! A trap with all protections is played over the shipped programs, interpreted and compiled, and
//! over a switch that follows the paper line by line.

mod rack;
mod random;
mod scripts;
mod switch;

use crate::Architecture::{self, CliMc, CoordiMc, NetMc};
use crate::common::traps::{self, Trap, traps};
use netkv_compiled::ExecutorKind;
use netkv_roles::kits::multiget::Layout;
use netkv_roles::mutation::{self, *};
use netkv_roles::{MILLISECOND, Mutation, SECOND};
use netkv_wire::client_ip;
use netkv_wire::multiget::{Addresses, Header, Op, group, splitter_ip, write_keys};
use netkv_workload::Random;

use rack::{Harm, Rack, Setup};
use scripts::*;
use switch::{Kind, Switch};

const INTERPRETED: Kind = Kind::Program(ExecutorKind::Interpreter);
const COMPILED: Kind = Kind::Program(ExecutorKind::Compiled);

/// Architectures and switches of the racks where traps are played.
type Racks = &'static [(Architecture, Kind)];

const ALL: Racks = &[(NetMc, INTERPRETED), (CliMc, INTERPRETED), (CoordiMc, INTERPRETED)];
const SWITCH: Racks = &[(NetMc, INTERPRETED)];
const COORDINATOR: Racks = &[(CoordiMc, INTERPRETED)];

impl traps::Rack for Rack {
    type Mutant = Mutation;
    type Harm = Harm;
    type Setup = (fn() -> Setup, Racks);
    type Kind = (Architecture, Kind);

    const USUAL: (fn() -> Setup, Racks) = (usual, ALL);

    fn kinds((_, racks): (fn() -> Setup, Racks)) -> Vec<(Architecture, Kind)> {
        let of = |kind| racks.iter().map(move |(architecture, _)| (*architecture, kind));
        [Kind::Paper, INTERPRETED, COMPILED].into_iter().flat_map(of).collect()
    }

    fn kinds_of_mutants((_, racks): (fn() -> Setup, Racks)) -> Vec<(Architecture, Kind)> {
        racks.to_vec()
    }

    fn play(
        trap: &Trap<Self>,
        (architecture, kind): (Architecture, Kind),
        mutation: Option<Mutation>,
    ) -> Vec<Harm> {
        let mut rack = Self::new(architecture, (trap.setup.0)(), mutation, kind);
        (trap.script)(&mut rack);
        rack.harm.into_iter().collect()
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

/// The client gives up long before the coordinator.
fn patient() -> Setup {
    Setup { coordinator_deadline: 10 * SECOND, ..Setup::default() }
}

fn four_at_a_time() -> Setup {
    Setup { max_requests: 4, coordinator_deadline: 50 * MILLISECOND, ..Setup::default() }
}

traps! {
    of Rack;

    copies_of_replies_do_not_end_a_request: copies_of_replies,
        [ClientCountsKeys => WrongValue in ALL, ClientTakesFirstReply => WrongValue in ALL];
    copies_of_replies_do_not_end_a_request_at_the_coordinator:
        copies_of_replies_to_the_coordinator, on (usual, COORDINATOR),
        [CoordinatorCountsKeys => WrongOutcome in COORDINATOR];
    only_keys_of_a_lost_reply_are_requested_again: lost_replies,
        [RequestOnce => NoAnswer in ALL];
    lost_request_is_sent_again: lost_requests, [RequestOnce => NoAnswer in ALL];
    request_lost_behind_the_coordinator_is_sent_again:
        requests_lost_behind_the_coordinator, on (patient, COORDINATOR),
        [CoordinatorAsksOnce => NoAnswer in COORDINATOR];
    values_of_reordered_replies_get_to_their_keys: replies_in_another_order,
        [ClientAppendsReplies => WrongValue in ALL];
    missing_keys_are_answered: keys_that_are_not_there,
        [ClientIgnoresAbsent => NoAnswer in ALL];
    one_key_is_a_group: one_key, [ClientEndsNoLastGroup => NoAnswer in SWITCH];
    sixteen_keys_of_one_server_are_one_group: sixteen_keys_on_one_server,
        [ClientTakesFirstReply => WrongValue in ALL, ClientEndsNoLastGroup => NoAnswer in SWITCH];
    sixteen_keys_of_16_servers_are_16_groups: sixteen_keys_on_16_servers, on (sixteen_servers, ALL),
        [ServerReadsAllKeys => WrongValue in SWITCH, ClientEndsNoLastGroup => NoAnswer in SWITCH];
    more_than_16_keys_are_several_requests_to_a_switch: more_than_16_keys,
        [ClientAsksOnce => WrongValue in SWITCH];
    keys_above_the_size_of_a_frame_are_several_requests: keys_of_two_frames,
        [ClientAsksOnce => WrongValue in ALL];
    large_request_survives_faults: large_request,
        [RequestOnce => NoAnswer in ALL, ClientCountsKeys => WrongValue in ALL];
    large_request_survives_faults_at_the_coordinator:
        large_request_behind_the_coordinator, on (patient, COORDINATOR),
        [CoordinatorCountsKeys => WrongOutcome in COORDINATOR,
            CoordinatorAsksOnce => NoAnswer in COORDINATOR];
    large_request_with_a_server_down_times_out_as_a_whole:
        large_request_with_a_server_down, on (patient, ALL),
        [ClientEndsWithAPart => WrongOutcome in ALL,
            CoordinatorSendsNoPartialReplies => WrongMissing in COORDINATOR],
        also [RequestOnce, ClientNumbersRetriesAnew, ClientCountsKeys, CoordinatorIgnoresClient,
            CoordinatorRepeatsRequests];
    large_request_is_answered_by_the_next_coordinator: large_request_and_two_coordinators,
        on (usual, COORDINATOR), [RequestOnce => NoAnswer in COORDINATOR];
    repeated_key_is_requested_once_and_answered_each_time: repeated_key,
        [ClientAnswersRepeatsOnce => WrongValue in ALL];

    numbers_wrap_with_requests_under_way: numbers_that_wrap, on (end_of_numbers, ALL),
        [ServerPlainNumbers => NoAnswer in ALL],
        also [ClientIgnoresReceiver, CoordinatorIgnoresClient];
    writes_continue_when_numbers_wrap: writes_around_the_wrap, on (end_of_numbers, ALL),
        [ServerPlainNumbers => NoAnswer in ALL];
    clients_may_have_the_same_numbers: two_clients_with_one_number,
        [ClientIgnoresReceiver => NoAnswer in ALL,
            CoordinatorIgnoresClient => NoAnswer in COORDINATOR];
    reply_to_an_older_request_of_the_same_number_is_ignored: reply_to_an_older_request,
        [ClientTrustsPlaces => WrongValue in ALL];

    request_with_a_server_down_times_out_and_names_it: one_server_down,
        [ClientEndsWithAPart => WrongOutcome in ALL,
            CoordinatorSendsNoPartialReplies => WrongMissing in COORDINATOR],
        also [RequestOnce, ClientNumbersRetriesAnew];
    failed_storage_read_is_not_reported_as_not_found: store_that_fails,
        [ServerTakesFailuresForAbsent => WrongOutcome in ALL,
            AnswerFailuresAsDone => WrongOutcome in ALL,
            ClientTakesFailuresAsDone => WrongOutcome in ALL],
        also [CoordinatorIgnoresClient, AnswerBeforeStored];

    late_copy_of_a_write_has_no_effect: late_copy_of_a_write,
        [RepeatWrites => WrongEffect in ALL],
        also [ServerNumbersByCoordinator];
    late_copy_of_a_delete_has_no_effect: late_copy_of_a_delete,
        [RepeatWrites => WrongEffect in ALL],
        also [ServerNumbersByCoordinator];
    late_copy_from_before_the_window_has_no_effect: late_copy_from_before_the_window,
        [RepeatLateWrites => WrongEffect in ALL],
        also [ServerNumbersByCoordinator];
    write_that_is_repeated_has_one_effect_and_is_answered: write_whose_answer_was_lost,
        [ClientNumbersRetriesAnew => WrongEffect in ALL, RepeatWrites => WrongEffect in ALL,
            LeaveCopiesUnanswered => NoAnswer in ALL, RequestOnce => NoAnswer in ALL],
        also [ClientIgnoresReceiver, ServerNumbersByCoordinator];
    repeated_write_has_one_effect_after_a_server_restart:
        write_before_its_server_was_restarted,
        [ClientNumbersRetriesAnew => WrongEffect in ALL, RepeatWrites => WrongEffect in ALL],
        also [RequestOnce, ClientIgnoresReceiver, LeaveCopiesUnanswered,
            ServerNumbersByCoordinator];
    repeated_write_has_one_effect_after_a_coordinator_restart:
        write_before_the_coordinator_was_restarted, on (usual, COORDINATOR),
        [ServerNumbersByCoordinator => WrongEffect in COORDINATOR],
        also [RequestOnce, ClientIgnoresReceiver, RepeatWrites, ClientNumbersRetriesAnew,
            LeaveCopiesUnanswered];
    write_is_answered_only_when_it_is_stored: store_that_is_slow,
        [AnswerBeforeStored => WrongEffect in ALL],
        also [RequestOnce, CoordinatorAsksOnce];
    writes_of_one_key_are_done_in_order: two_writes_of_one_key,
        [OvertakeWrites => WrongEffect in ALL],
        also [CoordinatorIgnoresClient];
    keys_of_the_store_itself_are_refused: reserved_key,
        [ServerTakesReservedKeys => WrongEffect in ALL],
        also [CoordinatorIgnoresClient];

    coordinator_refuses_requests_beyond_its_limit: coordinator_above_its_limit,
        on (four_at_a_time, COORDINATOR), [CoordinatorTakesAll => Unlimited in COORDINATOR],
        also [RequestOnce, CoordinatorAsksOnce];
    copy_of_a_request_under_way_is_answered_with_it: copy_of_a_request_under_way,
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
fn server_without_applied_marks_applies_writes_twice() {
    for (architecture, kind) in ALL {
        let mut rack = Rack::new(*architecture, usual(), None, *kind);
        write_before_its_server_was_restarted_without_memory(&mut rack);
        assert!(rack.harm.contains(&Harm::WrongEffect), "{architecture:?}: {:?}", rack.harm);
    }
}

/// Without these almost nothing works, so most traps fail.
const FUNDAMENTAL: &[Mutation] = &[
    ClientTakesFirstReply,
    ClientAppendsReplies,
    ClientEndsNoLastGroup,
    ClientAsksOnce,
    ServerReadsAllKeys,
];

#[test]
fn without_a_protection_exactly_the_traps_in_the_table_fail() {
    traps::only_the_table_fails(TRAPS, FUNDAMENTAL);
}

#[test]
fn every_protection_of_multigets_has_a_trap() {
    traps::every_one_has_a_trap(TRAPS, &[mutation::MULTIGET]);
}

#[test]
fn documentation_has_every_trap_with_its_mutants() {
    traps::every_one_is_documented(TRAPS);
}

//! Rule 4: hot records are offered to the controller.

use netkv_roles::{MILLISECOND, SECOND};
use netkv_wire::{Op, Status, bits};

use crate::frames::{INITIAL, Incoming, LONG, Outgoing, at};
use crate::rig::Rig;

fn hot(incoming: Incoming) -> Incoming {
    incoming.with(bits::HOT)
}

fn contents(offers: &[Outgoing]) -> Vec<(Option<(u16, u32)>, u32)> {
    offers.iter().map(|it| (it.content, it.sequence().number)).collect()
}

/// An OFFER or its answer is lost.
///
/// Protection: OFFER is repeated until answered.
pub fn lost_offer(rig: &mut Rig) {
    rig.arrive(&hot(Incoming::get(1)));
    let first = rig.offers();
    rig.wait(LONG);
    let again = rig.offers();
    rig.expect(again.len() > 2, true, "offers that are repeated");
    let same = again.iter().all(|it| Some(it) == first.first());
    rig.expect(same, true, "whether an offer that is repeated is the same");
    let Some(offer) = first.first().copied() else { return };
    rig.answer_offer(&offer, Status::Ok);
    rig.wait(LONG);
    let more = rig.offers().len();
    rig.expect(more, 0, "offers after the answer");
}

/// A key stays hot while the controller has not answered.
///
/// Protection: At most one OFFER of a key is under way.
pub fn many_hot_requests(rig: &mut Rig) {
    rig.arrive(&hot(Incoming::get(1)));
    rig.arrive(&hot(Incoming::client(Op::Put, 1, 1, at(5))));
    rig.arrive(&hot(Incoming::get(2)));
    let offers = contents(&rig.offers());
    rig.expect(offers, vec![(INITIAL, 0)], "offers of one key");
}

/// The controller refuses an offer; the next one may be sent a second later, and not before.
///
/// Protection: No OFFER of a key is sent within a second of the last answer.
pub fn refused_offer(rig: &mut Rig) {
    rig.arrive(&hot(Incoming::get(1)));
    let Some(offer) = rig.offers().first().copied() else { return };
    rig.wait(3 * MILLISECOND);
    rig.answer_offer(&offer, Status::Rejected);
    for request in 2..10 {
        rig.wait(SECOND / 10);
        rig.arrive(&hot(Incoming::get(request)));
    }
    let early = rig.offers().len();
    rig.expect(early, 0, "offers within a second");
    rig.wait(SECOND / 5);
    rig.arrive(&hot(Incoming::get(10)));
    let later = rig.offers().len();
    rig.expect(later, 1, "offers after a second");
}

/// A hot record is deleted or too large.
///
/// Protection: Deleted and large records are not offered.
pub fn unfit_records(rig: &mut Rig) {
    rig.arrive(&hot(Incoming::client(Op::Put, 1, 1, at(5)).of_size(129)));
    rig.arrive(&hot(Incoming::get(1)));
    rig.arrive(&hot(Incoming::client(Op::Delete, 1, 2, at(6))));
    rig.arrive(&hot(Incoming::get(2)));
    rig.arrive(&hot(Incoming::client(Op::Put, 1, 3, at(4)))); // Overwritten by the delete.
    let offers = contents(&rig.offers());
    rig.expect(offers, Vec::new(), "offers of records that cannot be cached");
    rig.arrive(&hot(Incoming::client(Op::Put, 1, 4, at(7)).of_size(128)));
    let offers = contents(&rig.offers());
    rig.expect(offers, vec![(Some((1, 4)), 7)], "offers of records that can be cached");
}

/// The answer to an offer arrives twice, the second time when another offer is open.
///
/// Protection: Answers are matched by request number.
pub fn late_copy_of_an_answer(rig: &mut Rig) {
    rig.arrive(&hot(Incoming::get(1)));
    let Some(first) = rig.offers().first().copied() else { return };
    rig.answer_offer(&first, Status::Rejected);
    rig.wait(2 * SECOND);
    rig.arrive(&hot(Incoming::get(2)));
    rig.offers();
    rig.answer_offer(&first, Status::Rejected);
    rig.wait(LONG);
    let repeated = rig.offers().len();
    rig.expect(repeated > 2, true, "an offer without an answer is repeated");
}

#[test]
fn a_record_is_offered_as_it_is_after_the_request() {
    let requests = [
        (Incoming::get(1), (INITIAL, 0)),
        (Incoming::client(Op::Put, 1, 1, at(5)), (Some((1, 1)), 5)),
        (Incoming::get(2), (Some((1, 1)), 5)),
        (Incoming::client(Op::Put, 2, 1, at(4)), (Some((1, 1)), 5)),
        (Incoming::client(Op::Delete, 2, 2, at(3)), (Some((1, 1)), 5)),
        (Incoming::client(Op::Put, 1, 1, at(8)), (Some((1, 1)), 5)), // A copy.
    ];
    let mut rig = Rig::new(None);
    for (incoming, expected) in requests {
        rig.hangs = true;
        rig.arrive(&hot(incoming));
        assert!(rig.offers().is_empty(), "{incoming:?} has not ended yet");
        rig.resume();
        let reply = rig.outgoing.iter().position(|it| it.op == incoming.op.reply());
        let offer = rig.outgoing.iter().position(|it| it.op == Op::Offer);
        assert!(reply < offer, "the client need not wait for the offer");
        let offers = rig.offers();
        assert_eq!(contents(&offers), [expected], "{incoming:?}");
        rig.outgoing.clear();
        rig.answer_offer(&offers[0], Status::Ok);
        rig.wait(2 * SECOND);
    }
    let stats = rig.server.stats();
    assert_eq!((rig.server.write_back_stats().offers, stats.retries), (6, 0));
}

#[test]
fn offers_are_made_again_after_a_restart() {
    let mut rig = Rig::new(None);
    rig.arrive(&hot(Incoming::get(1)));
    let old = rig.offers()[0];
    rig.restart(0);
    rig.wait(LONG);
    assert!(rig.offers().is_empty());
    rig.arrive(&hot(Incoming::get(2)));
    rig.answer_offer(&old, Status::Ok);
    assert_eq!(rig.server.stats().unexpected, 1, "the offer was of the former server process");
    rig.wait(LONG);
    assert!(rig.offers().len() > 2, "the new offer stays open");
}

#[test]
fn offers_without_an_answer_are_limited() {
    let mut rig = Rig::new(None);
    for id in 0..5000 {
        rig.arrive(&hot(Incoming::get(id)).of_key(id.into()));
        rig.arrive(&hot(Incoming::client(Op::Put, 1, id, at(1 + id)).of_key(id.into())));
    }
    let offers = rig.offers();
    assert_eq!(offers.len(), 4096);
    offers.iter().for_each(|offer| rig.answer_offer(offer, Status::Rejected));
    rig.wait(2 * SECOND);
    rig.arrive(&hot(Incoming::get(6000).of_key(4999)));
    assert_eq!(contents(&rig.offers()), [(Some((1, 4999)), 5000)], "there is room again");
}

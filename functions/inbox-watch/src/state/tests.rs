//! The saved state: which messages a run takes up, and whom it answers.
//! The file has more than 300 lines because each rule of the state has a short test of its own.

use super::{Kind::Acknowledgement, *};

const LEASE: Duration = Duration::from_secs(110);

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_seconds(seconds)
}

/// A time on one fixed day, in seconds since midnight.
fn received(second: usize) -> ReceivedAt {
    let text = format!("2026-04-16T{:02}:{:02}:{:02}Z", second / 3600, second / 60 % 60, second % 60);
    ReceivedAt::parse(text).unwrap()
}

fn arrival(second: usize, id: &str) -> Arrival {
    Arrival { received_at: Some(received(second)), id: id.to_owned() }
}

fn arrivals(messages: Vec<Arrival>) -> Arrivals {
    Arrivals { messages, more: false }
}

fn draft(id: &str) -> Draft {
    Draft { id: id.into(), internet_message_id: format!("<{id}>") }
}

fn seeded() -> InboxState {
    let mut state = InboxState::default();
    assert_eq!(state.begin("a", at(0), LEASE), Begun::Seed);
    state.seed(&Arrivals::default(), at(0));
    state
}

/// Announces and finishes every message in work.
fn finish_all(state: &mut InboxState) {
    for at_hand in state.at_hand.clone() {
        state.record_alert(&at_hand.id);
        state.finish(&at_hand.id, Ended::Well);
    }
}

/// State saved by an earlier version covers unread messages only. Messages that staff had read by then count as seen;
/// later ones are new.
#[test]
fn a_state_that_covers_unread_messages_only_goes_on_by_time() {
    let mut state = seeded();
    state.take(&arrivals(vec![arrival(50, "seen")]));
    finish_all(&mut state);
    state.end(at(1), None);
    state.by_time = false;
    assert_eq!(state.begin("b", at(200), LEASE), Begun::Go);
    assert_eq!(state.since(), received(50));
    let listed = arrivals(vec![arrival(40, "read long ago"), arrival(50, "seen"), arrival(60, "new")]);
    assert_eq!((state.take(&listed), state.at_hand[0].id.as_str()), (1, "new"));
    let mut empty = InboxState { seeded_at: Some(at(1_776_297_610)), ..InboxState::default() };
    assert_eq!(empty.begin("b", at(1_776_297_700), LEASE), Begun::Go);
    assert_eq!(empty.take(&arrivals(vec![arrival(0, "older"), arrival(30_000, "new")])), 1);
}

#[test]
fn one_run_at_a_time_and_a_dead_one_is_followed() {
    let mut state = seeded();
    assert_eq!(state.begin("b", at(109), LEASE), Begun::Busy);
    assert_eq!(state.begin("b", at(110), LEASE), Begun::Go);
    assert!(state.is_run("b") && !state.is_run("a"));
    state.end(at(111), None);
    assert!(!state.is_run("b"));
    assert_eq!(state.begin("c", at(112), LEASE), Begun::Go);
    state.end(at(113), Some(Duration::from_secs(60)));
    assert_eq!(state.begin("d", at(172), LEASE), Begun::Waiting, "429: as long as the mailbox asked for");
    assert_eq!(state.begin("d", at(173), LEASE), Begun::Go);
}

/// Inbox Watch, V7, with more messages than the list has entries: no message becomes new again.
#[test]
fn the_list_keeps_the_newest_500_and_forgets_none() {
    let mut state = seeded();
    let all: Vec<Arrival> = (0..600).map(|second| arrival(second, &format!("m{second}"))).collect();
    let mut taken = 0;
    for _ in 0..30 {
        taken += state.take(&arrivals(all.clone()));
        finish_all(&mut state);
        assert!(state.seen.len() <= MOST_SEEN && state.seen.is_sorted());
    }
    assert_eq!(taken, 600);
    assert_eq!(state.seen.len(), MOST_SEEN);
    assert_eq!((state.seen[0].received_at.clone(), state.since()), (received(100), received(99)));
    assert_eq!(state.take(&arrivals(all)), 0);
}

#[test]
fn a_stored_list_that_is_too_long_is_cut_at_the_next_run() {
    let key = |second| Key { received_at: received(second), message: digest("m") };
    let mut state = InboxState {
        seeded_at: Some(at(0)),
        by_time: true,
        seen: (0..600).rev().map(key).collect(),
        ..InboxState::default()
    };
    state.begin("a", at(1), LEASE);
    assert_eq!((state.seen.len(), &state.seen[0]), (MOST_SEEN, &key(100)));
    assert_eq!(state.take(&arrivals(vec![arrival(50, "x"), arrival(550, "m"), arrival(550, "y")])), 1);
}

/// Inbox Watch, G6, with the end of the list inside a second in which many messages arrived.
#[test]
fn messages_of_one_second_are_distinguished() {
    let mut state = seeded();
    let all: Vec<Arrival> = (0..700).map(|number| arrival(7, &format!("m{number}"))).collect();
    let mut taken = 0;
    for _ in 0..40 {
        taken += state.take(&arrivals(all.clone()));
        finish_all(&mut state);
    }
    assert_eq!((taken, state.seen.len()), (700, MOST_SEEN));
}

#[test]
fn a_run_takes_up_what_there_is_room_for_oldest_first() {
    let mut state = seeded();
    let all = arrivals((0..50).rev().map(|second| arrival(second, &format!("m{second}"))).collect());
    assert_eq!((state.take(&all), state.take(&all)), (MAX_IN_WORK, 0));
    assert_eq!((state.at_hand[0].id.as_str(), state.at_hand[19].id.as_str()), ("m0", "m19"));
    state.record_alert("m3");
    state.finish("m3", Ended::Well);
    assert_eq!(state.take(&all), 1);
    assert_eq!(state.at_hand[19].id, "m20");
}

#[test]
fn a_backlog_begins_with_more_than_a_hundred_that_wait_and_ends_with_none() {
    let mut state = seeded();
    let mut take = |most: usize| {
        let all = arrivals((0..most).map(|second| arrival(second, &format!("m{second}"))).collect());
        state.take(&all);
        finish_all(&mut state);
        state.update_backlog(&all)
    };
    assert_eq!([take(120), take(160)], [None, Some(true)], "100 wait, then 120");
    let changes: Vec<_> = (0..7).map(|_| take(160)).collect();
    assert_eq!(changes, [None, None, None, None, None, Some(false), None]);
}

/// Inbox Watch, FM-5.
#[test]
fn a_message_without_a_time_is_taken_up_once_and_hinders_nobody() {
    let mut state = seeded();
    let undated = Arrival { received_at: None, id: "u".into() };
    let both = arrivals(vec![undated.clone(), arrival(5, "m")]);
    assert_eq!((state.take(&both), state.take(&both)), (2, 0));
    finish_all(&mut state);
    assert_eq!(state.take(&arrivals(vec![undated])), 0);
    state.take(&arrivals(Vec::new()));
    assert!(state.undated.is_empty(), "what was read does not come again");
    let many: Vec<Arrival> = (0..600).map(|n| Arrival { received_at: None, id: format!("u{n}") }).collect();
    for _ in 0..40 {
        state.take(&arrivals(many.clone()));
        finish_all(&mut state);
    }
    assert_eq!(state.undated.len(), MOST_UNDATED);
}

#[test]
fn what_was_unread_before_the_first_run_stays_unanswered_however_much_it_is() {
    let mut state = InboxState::default();
    state.begin("a", at(0), LEASE);
    let newest: Vec<Arrival> = (100..600).rev().map(|second| arrival(second, &format!("m{second}"))).collect();
    state.seed(&Arrivals { messages: newest, more: true }, at(0));
    let all: Vec<Arrival> = (0..600).map(|second| arrival(second, &format!("m{second}"))).collect();
    assert_eq!(state.take(&arrivals(all)), 0);
    assert_eq!(state.take(&arrivals(vec![arrival(600, "new")])), 1);
}

/// Old messages can be moved into the inbox after the first run.
#[test]
fn of_messages_received_before_the_first_run_only_those_of_the_last_ten_minutes_are_new() {
    // 5,000 seconds after the midnight of `received`.
    let first_run = at(1_776_297_600 + 5_000);
    let mut state = InboxState::default();
    state.begin("a", first_run, LEASE);
    state.seed(&arrivals(vec![arrival(50, "listed")]), first_run);
    let moved = [arrival(40, "older"), arrival(4_399, "newer")];
    assert_eq!(state.take(&arrivals(moved.into())), 0);
    let late = [arrival(50, "listed"), arrival(4_400, "at the limit"), arrival(4_990, "late")];
    assert_eq!(state.take(&arrivals(late.into())), 2);
}

/// Inbox Watch, G1.
#[test]
fn a_sender_is_acknowledged_once_in_24_hours() {
    let mut state = seeded();
    state.take(&arrivals((1..=4).map(|n| arrival(n, &format!("m{n}"))).collect()));
    let day = 24 * 3600;
    assert_eq!(state.claim_answer("m1", "tag", Acknowledgement, at(0)), Claimed::Granted);
    assert_eq!(
        state.claim_answer("m1", "tag", Acknowledgement, at(5)),
        Claimed::Granted,
        "the claim of a run that died"
    );
    assert_eq!(state.claim_answer("m2", "tag", Acknowledgement, at(day - 1)), Claimed::Cooldown);
    assert_eq!(state.claim_answer("m3", "other", Acknowledgement, at(day - 1)), Claimed::Granted);
    assert_eq!(state.claim_answer("m4", "tag", Acknowledgement, at(day)), Claimed::Granted);
    assert_eq!(state.finish("m3", Ended::NotSent).as_deref(), Some("other"));
    assert_eq!(
        state.claim_answer("m2", "other", Acknowledgement, at(day)),
        Claimed::Granted,
        "the first one certainly did not go"
    );
}

#[test]
fn an_answer_that_was_not_sent_takes_nothing_from_an_earlier_one() {
    let mut state = seeded();
    state.take(&arrivals((1..=2).map(|n| arrival(n, &format!("m{n}"))).collect()));
    state.claim_answer("m1", "tag", Acknowledgement, at(0));
    assert!(state.drafted("m1", &draft("a")));
    state.finish("m1", Ended::Well);
    assert_eq!(state.claim_answer("m2", "tag", Kind::Help, at(5)), Claimed::Granted);
    assert_eq!((state.answered["tag"], state.helped["tag"].len()), (at(5), 1));
    state.finish("m2", Ended::NotSent);
    assert_eq!((state.answered["tag"], state.helped["tag"].len()), (at(0), 0));
}

/// Without a recorded draft nothing was sent, however the message ends.
#[test]
fn an_answer_without_a_draft_does_not_count() {
    for ended in [Ended::Well, Ended::Gone] {
        let mut state = seeded();
        state.take(&arrivals(vec![arrival(1, "m1")]));
        assert_eq!(state.claim_answer("m1", "tag", Kind::Help, at(0)), Claimed::Granted);
        assert_eq!(state.finish("m1", ended).as_deref(), Some("tag"));
        assert!(state.answered.is_empty() && state.helped["tag"].is_empty(), "{ended:?}");
    }
}

/// The first answer's text stays unreadable for runs, while a second one to the same sender is sent.
#[test]
fn an_answer_that_is_given_up_takes_nothing_from_a_later_one() {
    let mut state = seeded();
    state.take(&arrivals((1..=3).map(|n| arrival(n, &format!("m{n}"))).collect()));
    assert_eq!(state.claim_answer("m1", "tag", Kind::Help, at(0)), Claimed::Granted);
    assert_eq!(state.claim_answer("m2", "tag", Kind::Help, at(5)), Claimed::Granted);
    assert!(state.drafted("m2", &draft("a")));
    state.finish("m2", Ended::Well);
    state.finish("m1", Ended::Well);
    assert_eq!((state.answered["tag"], state.helped["tag"].as_slice()), (at(5), [at(5)].as_slice()));
    assert_eq!(state.claim_answer("m3", "tag", Acknowledgement, at(10)), Claimed::Cooldown);
}

#[test]
fn answers_that_are_all_given_up_leave_no_mark_in_either_order() {
    for order in [["m1", "m2"], ["m2", "m1"]] {
        let mut state = seeded();
        state.take(&arrivals((1..=3).map(|n| arrival(n, &format!("m{n}"))).collect()));
        state.claim_answer("m1", "tag", Kind::Help, at(0));
        state.claim_answer("m2", "tag", Kind::Help, at(5));
        for id in order {
            state.finish(id, Ended::Well);
        }
        assert!(state.helped["tag"].is_empty(), "{order:?}");
        assert_eq!(state.claim_answer("m3", "tag", Acknowledgement, at(10)), Claimed::Granted, "{order:?}");
    }
}

/// State that was saved before answers had the time of their claim.
#[test]
fn a_stored_answer_without_its_time_is_given_up() {
    let mut state = seeded();
    state.take(&arrivals(vec![arrival(1, "m1")]));
    state.claim_answer("m1", "tag", Kind::Help, at(0));
    let mut stored = serde_json::to_value(&state).unwrap();
    stored["at_hand"][0]["answer"].as_object_mut().unwrap().remove("claimed_at").unwrap();
    let mut state: InboxState = serde_json::from_value(stored).unwrap();
    state.finish("m1", Ended::Well);
    assert!(state.answered.is_empty() && state.helped["tag"].is_empty());
}

#[test]
fn the_cooldown_is_bounded() {
    let mut state = seeded();
    state.take(&arrivals(vec![arrival(1, "m")]));
    state.answered = (0..MOST_ANSWERED).map(|n| (format!("t{n}"), at(0))).collect();
    assert_eq!(state.claim_answer("m", "new", Acknowledgement, at(1)), Claimed::Full);
    state.end(at(24 * 3600), None);
    assert!(state.answered.is_empty());
}

#[test]
fn the_answers_to_disclosures_are_bounded() {
    let mut state = seeded();
    state.take(&arrivals(vec![arrival(1, "m")]));
    state.helped = (0..MOST_DISCLOSING).map(|n| (format!("t{n}"), vec![at(0)])).collect();
    assert_eq!(state.claim_answer("m", "new", Kind::Help, at(1)), Claimed::Full);
    assert_eq!(state.claim_answer("m", "t0", Kind::Help, at(1)), Claimed::Granted);
    state.end(at(24 * 3600), None);
    assert_eq!(state.helped.len(), 1, "what limits nothing any more is forgotten");
}

#[test]
fn only_the_first_recorded_draft_may_be_sent() {
    let mut state = seeded();
    state.take(&arrivals(vec![arrival(1, "m")]));
    assert!(!state.drafted("m", &draft("a")), "nobody has claimed the answer");
    state.claim_answer("m", "tag", Acknowledgement, at(0));
    assert!(state.drafted("m", &draft("a")) && state.drafted("m", &draft("a")));
    assert!(!state.drafted("m", &draft("b")));
    assert!(!state.drafted("gone", &draft("a")));
}

#[test]
fn a_full_state_fits_into_an_item_of_the_table() {
    let mut state = seeded();
    state.seen = (0..MOST_SEEN).map(|n| Key { received_at: received(n), message: digest("m") }).collect();
    state.undated = (0..MOST_UNDATED).map(|n| digest(&n.to_string())).collect();
    let tag = |n| (format!("hmac-sha256:v1:{n:032}"), at(1_800_000_000));
    state.answered = (0..MOST_ANSWERED).map(tag).collect();
    let helped = |n| (tag(n).0, vec![tag(n).1; MOST_HELPED]);
    state.helped = (0..MOST_DISCLOSING).map(helped).collect();
    let bytes = serde_json::to_string(&state).unwrap().len();
    assert!(bytes < 290_000, "{bytes}");
}

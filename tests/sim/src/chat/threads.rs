//! Checks the Bridges of a world: after every step the change of a row and the mails that were sent, and every reply
//! about a thread.

use super::{
    asked::Asked,
    people::word,
    promises::{Checked, Promise},
};
use domain::{
    Timestamp,
    audit_trail::Audited,
    chat::{AccessLetter, Account, BRIDGE_PREFIX, Bridge, BridgeState, MailStep, Post, SubscriberId},
    texts::BRIDGE_REPLY_SUBJECT,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};
use testkit::world::State;

/// How wrong a process's clock can be.
const SKEW: Duration = Duration::from_secs(600);

/// The checker's knowledge of one person's Bridge besides its row.
#[derive(Debug)]
struct Known {
    /// The row after the last step, with its version.
    row: (Bridge, u64),
    /// When access ended; `None` while it is granted.
    closed_at: Option<Timestamp>,
    /// Whether the person has requested an erasure since the row was last empty.
    may_be_erased: bool,
}

impl Known {
    /// Whether access was granted at this time or later.
    fn was_open(&self, from: Timestamp) -> bool {
        let is_unexpired = self.row.0.expires().is_none_or(|expires| from < expires.plus(SKEW));
        self.was_answered(from) && is_unexpired
    }

    /// Whether replies were mailed at this time or later: also after the expiry, for what was posted before it.
    fn was_answered(&self, from: Timestamp) -> bool {
        self.closed_at.is_none_or(|at| at >= from)
    }
}

/// A text on a Bridge, from the customer or from operators.
#[derive(Debug)]
struct Text {
    owner: usize,
    /// Operators' words may be posted twice: the same words to another message are another reply.
    by_member: bool,
    sent: Timestamp,
    is_answered: bool,
    /// Whether its owner has requested an erasure, and when the erasure was answered.
    is_wished: bool,
    erased: Option<Timestamp>,
}

/// The checker's knowledge of the Bridges of a world.
#[derive(Debug)]
pub(super) struct Threads {
    known: Vec<Known>,
    texts: BTreeMap<u64, Text>,
    /// Every draft that a row recorded, and when the row lost it before it was sent.
    drafts: BTreeMap<String, Option<Timestamp>>,
    sent: BTreeSet<String>,
    mails: usize,
}

/// The stored stage: a grant counts as granted after its expiry too.
fn stage(bridge: &Bridge) -> BridgeState {
    bridge.state(Timestamp::from_millis(0))
}

/// The recorded drafts of a row.
fn drafts(bridge: &Bridge) -> impl Iterator<Item = &String> {
    let steps = bridge.thread().iter().filter_map(Post::mail).chain(bridge.letter().map(AccessLetter::mail));
    steps.filter_map(|step| match step {
        MailStep::Drafted(draft) => Some(&draft.id),
        MailStep::Waiting | MailStep::Sent => None,
    })
}

impl Threads {
    pub(super) fn new(subscribers: &[SubscriberId]) -> Self {
        let known = |id: &SubscriberId| Known {
            row: (Bridge::new(id.clone()), 0),
            closed_at: Some(Timestamp::from_millis(0)),
            may_be_erased: false,
        };
        let known = subscribers.iter().map(known).collect();
        Self { known, texts: BTreeMap::new(), drafts: BTreeMap::new(), sent: BTreeSet::new(), mails: 0 }
    }

    /// A text is sent for the first time.
    pub(super) fn wrote(&mut self, text: u64, owner: usize, by_member: bool, sent: Timestamp) {
        let new = Text { owner, by_member, sent, is_answered: false, is_wished: false, erased: None };
        self.texts.insert(text, new);
    }

    /// A person requests an erasure.
    pub(super) fn wish(&mut self, person: usize) {
        self.known[person].may_be_erased = true;
        self.texts.values_mut().filter(|text| text.owner == person).for_each(|text| text.is_wished = true);
    }

    /// A text that can be sent again: an erasure does not concern it.
    pub(super) fn again(&self, text: u64) -> bool {
        self.texts.get(&text).is_some_and(|text| !text.is_wished)
    }

    /// The stored stage of a person's Bridge.
    pub(super) fn stage(&self, person: usize) -> BridgeState {
        stage(&self.known[person].row.0)
    }

    /// Whether a person's access was granted at this time or later.
    pub(super) fn was_open(&self, person: usize, from: Timestamp) -> bool {
        self.known[person].was_open(from)
    }

    /// Checks a reply about a thread.
    pub(super) fn replied(&mut self, asked: &Asked, status: u16, body: &str, now: Timestamp) -> Checked {
        match (asked.call, status) {
            ("POST message", 200) => {
                let found = asked.exchange.and_then(|text| self.texts.get_mut(&text));
                found.into_iter().for_each(|text| text.is_answered = true);
                Ok(())
            }
            ("GET messages", 200) => self.read(asked, body),
            ("DELETE memory", 202) => {
                let earlier = |text: &&mut Text| text.owner == asked.person && text.sent <= asked.began;
                for text in self.texts.values_mut().filter(earlier) {
                    text.erased.get_or_insert(now);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn read(&self, asked: &Asked, body: &str) -> Checked {
        for (number, text) in &self.texts {
            let times = body.matches(&word(*number)).count();
            let is_own = text.owner == asked.person;
            Promise::Own.require(times == 0 || is_own, || format!("person {} reads text {number}", asked.person))?;
            let is_erased = text.erased.is_some_and(|at| at <= asked.began);
            Promise::Erased.require(times == 0 || !is_erased, || format!("a thread has the erased text {number}"))?;
            Promise::OneThread
                .require(times < 2 || !text.by_member, || format!("a thread has text {number} {times} times"))?;
            let is_due = is_own && text.is_answered && !text.is_wished;
            Promise::OneThread.require(times == 1 || !is_due, || format!("a thread lacks text {number}"))?;
        }
        Ok(())
    }

    /// Checks the changes of one step of a task that began at `began`.
    pub(super) fn step(&mut self, state: &State, began: Timestamp, now: Timestamp) -> Checked {
        self.mailed(state, began)?;
        for person in 0..self.known.len() {
            let before = &self.known[person].row;
            let Some(after) = state.bridges.get(before.0.id()).filter(|(_, version)| *version != before.1) else {
                continue;
            };
            self.changed(person, &after.0)?;
            let known = &mut self.known[person];
            for gone in drafts(&known.row.0).filter(|draft| !drafts(&after.0).any(|kept| kept == *draft)) {
                self.drafts.insert(gone.clone(), Some(now));
            }
            self.drafts.extend(drafts(&after.0).map(|draft| (draft.clone(), None)));
            match stage(&after.0) {
                BridgeState::Granted => known.closed_at = None,
                _ => {
                    known.closed_at.get_or_insert(now);
                }
            }
            known.row = after.clone();
        }
        Ok(())
    }

    /// Checks the new mails: each is a recorded draft, sent once, and wanted when its task began.
    fn mailed(&mut self, state: &State, began: Timestamp) -> Checked {
        for (draft, mail) in &state.sent[self.mails..] {
            let Some(who) = mail.session.as_str().strip_prefix(BRIDGE_PREFIX) else { continue };
            let subject = &mail.subject;
            let recorded = self.drafts.get(&draft.id);
            let is_first = self.sent.insert(draft.id.clone());
            Promise::OneLetter.require(recorded.is_some() && is_first, || {
                format!("a mail is sent twice, or is not the recorded one: {subject}")
            })?;
            let was_wanted = recorded.copied().flatten().is_none_or(|gone| gone >= began);
            Promise::OneLetter
                .require(was_wanted, || format!("a mail that was replaced or erased is sent: {subject}"))?;
            let Some(known) = self.known.iter().find(|known| known.row.0.id().as_str() == who) else { continue };
            let was_answered = known.was_answered(began);
            Promise::OnlyGranted.require(was_answered || subject != BRIDGE_REPLY_SUBJECT, || {
                "a reply is mailed without access".to_owned()
            })?;
        }
        self.mails = state.sent.len();
        Ok(())
    }

    /// Checks the change of a row.
    fn changed(&self, person: usize, after: &Bridge) -> Checked {
        let Known { row: (before, _), may_be_erased, .. } = &self.known[person];
        let (from, to) = (stage(before), stage(after));
        let allowed = match to {
            BridgeState::Offered => from == BridgeState::Offered || *may_be_erased,
            BridgeState::Granted => matches!(from, BridgeState::Accepted | BridgeState::Granted),
            BridgeState::Revoked => from != BridgeState::Offered,
            BridgeState::Accepted | BridgeState::Expired => true,
        };
        Promise::OnlyGranted.require(allowed, || format!("the Bridge of person {person} was {from} and is {to}"))?;
        if to == BridgeState::Offered {
            let is_empty = after.thread().is_empty() && after.letter().is_none();
            return Promise::Erased.require(is_empty, || format!("an erased Bridge of person {person} has texts"));
        }
        let ids = |bridge: &Bridge| bridge.thread().iter().map(|post| post.id().clone()).collect::<Vec<_>>();
        let (old, new) = (ids(before), ids(after));
        Promise::OneThread
            .require(new.starts_with(&old), || format!("the thread of person {person} lost a message"))?;
        let is_open = from == BridgeState::Granted && to == BridgeState::Granted;
        Promise::OnlyGranted
            .require(new.len() == old.len() || is_open, || format!("person {person} got a message without access"))?;
        for post in before.thread() {
            let later = after.message(post.id()).and_then(Post::mail);
            self.advanced(post.mail(), later, false)?;
        }
        let is_same = |letter: &&AccessLetter| {
            before.letter().is_some_and(|old| (old.kind(), old.since()) == (letter.kind(), letter.since()))
        };
        let later = after.letter().filter(is_same).map(AccessLetter::mail);
        let waiting = after.trail().outbox();
        let is_abandoned = waiting.iter().any(|record| record.line.contains(r#""step":"letter_abandoned""#));
        if later.is_some() {
            self.advanced(before.letter().map(AccessLetter::mail), later, is_abandoned)
        } else {
            Ok(())
        }
    }

    /// Checks the change of a mail's step: one draft, which is sent before the mail counts as sent.
    fn advanced(&self, before: Option<&MailStep>, after: Option<&MailStep>, is_abandoned: bool) -> Checked {
        let holds = match (before, after) {
            (Some(MailStep::Drafted(draft)), Some(MailStep::Drafted(other))) => draft == other,
            (Some(MailStep::Drafted(draft)), Some(MailStep::Sent)) => self.sent.contains(&draft.id) || is_abandoned,
            (Some(MailStep::Waiting), Some(MailStep::Sent)) => is_abandoned,
            (before, after) => before == after || before == Some(&MailStep::Waiting),
        };
        Promise::OneLetter.require(holds, || format!("a mail was {before:?} and is {after:?}"))
    }

    /// Checks the rows after the faults have ended, every person has read their thread, and the schedule has run.
    pub(super) fn at_rest(&self, state: &State) -> Checked {
        for (bridge, _) in state.bridges.values() {
            let who = bridge.id().prefix();
            let unsent = bridge.unsent_letter();
            Promise::OneLetter.require(unsent.is_none(), || format!("a letter to {who} is not sent: {unsent:?}"))?;
            let account = state.accounts.get(bridge.id()).map(|(account, _)| account.clone());
            let memory = account.unwrap_or_else(|| Account::new(bridge.id().clone())).memory();
            let is_current = bridge.acceptance().is_none_or(|acceptance| acceptance.memory() == memory);
            Promise::Erased.require(is_current, || format!("the Bridge of {who} belongs to an erased memory"))?;
            let waiting = bridge.trail().outbox().len();
            Promise::Recorded.require(waiting == 0, || format!("{waiting} records of the Bridge of {who} wait"))?;
        }
        Ok(())
    }
}

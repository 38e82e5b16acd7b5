//! A second attempt at a sale that failed or that the customer had to be asked about (Silent Drop, re-attempt).
//!
//! The verdict comes from the standard pipeline alone, prompts and gates included (Silent Drop, invariant 4): an
//! operator hands in the customer's tier and question, never a verdict.

use crate::{Done, Operator, PartFailed, Refusals, authority_gate, replies};
use audit::{Change, Context, Journal, hash};
use domain::{
    Query, Sale, SessionId, Submission, Tier, Timestamp,
    message::{Message, OrderedBy},
    ports::{Queue, Submissions, Versioned},
    sale::{Declined, Fulfilment, NotApproved},
};

/// The ports of a second attempt.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Ports<'a> {
    pub journal: Journal<'a>,
    pub submissions: &'a dyn Submissions,
    pub orders: &'a dyn Queue,
}

/// Why nothing was ordered.
#[derive(Debug, thiserror::Error)]
pub enum ReattemptError {
    /// There is no such sale.
    #[error("there is no such sale")]
    NoSale,
    /// The money went back, so nothing is made; or that of the session which includes this follow-up.
    #[error("the sale's money went back, or is about to: nothing more is made")]
    MoneyWentBack,
    /// Only failed or unusable sales are tried again.
    #[error("the sale is neither failed nor unusable")]
    NotOpen,
    /// The submission is missing: an unusable sale needs the question from the customer's reply.
    #[error("the session names no usable tier and question: hand in both")]
    NoSubmission,
    /// The tier handed in is not the one of the sale.
    #[error("the customer paid for {paid}, not for {handed_in}")]
    OtherTier {
        /// The sale's tier.
        paid: Tier,
        /// The operator's.
        handed_in: Tier,
    },
    /// The gate would decline the same question again.
    #[error("the authority gate declined the question: hand in another one, or see `oracle authority queue`")]
    Declined,
    /// A reply waits that the operator has not read: the new attempt would settle it.
    #[error("a reply waits that you have not read: oracle replies show, then repeat the command (with --yes: --reply)")]
    Unread,
    /// The lock cannot be overridden. The attempt is recorded.
    #[error("the authority gate declined the question for good: {}", NotApproved::Locked)]
    Locked,
}

impl Refusals for ReattemptError {}

/// The effect of the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reattempt {
    /// The verdict is ordered.
    Ordered,
    /// It was ordered before: only its message was sent again.
    AskedAgain,
}

/// Whether [`reattempt`] would be carried out, and its effect. Changes and records nothing.
///
/// # Errors
/// [`ReattemptError`].
pub async fn plan(
    ports: Ports<'_>,
    session: &SessionId,
    submission: Option<&Submission>,
    read: &[String],
) -> Done<Reattempt, ReattemptError> {
    Ok(load(ports, session, submission, read).await?.1?)
}

/// The sale, and whether a second attempt at it is possible.
async fn load(
    ports: Ports<'_>,
    session: &SessionId,
    submission: Option<&Submission>,
    read: &[String],
) -> Done<(Versioned<Sale>, Result<Reattempt, ReattemptError>), ReattemptError> {
    let sale = ports.journal.store.load(session).await?.ok_or(ReattemptError::NoSale)?;
    let planned = planned(&sale.value, submission, read);
    let is_locked = matches!(planned, Err(ReattemptError::Locked));
    let is_stopped = !is_locked && ports.journal.stopped_by_session(session).await?;
    Ok((sale, if is_stopped { Err(ReattemptError::MoneyWentBack) } else { planned }))
}

/// By the sale alone: whether a second attempt is possible, and its effect. The operator has `read` these replies
/// (by [`replies::name`]).
fn planned(sale: &Sale, submission: Option<&Submission>, read: &[String]) -> Result<Reattempt, ReattemptError> {
    // A locked question that is handed in again, in the same or in other words, is the same attempt as none. The text
    // is evaluated before it is stored, so that a disclosure is not stored.
    let is_no_other =
        |declined: &Declined, handed_in: &Submission| declined.is_locked() && is_locked_too(sale, &handed_in.query);
    let declined =
        sale.declined().filter(|declined| submission.is_none_or(|handed_in| is_no_other(declined, handed_in)));
    // First: the attempt is recorded whatever became of the money, which goes back within minutes.
    if declined.is_some_and(Declined::is_locked) {
        return Err(ReattemptError::Locked);
    }
    if !sale.is_money_kept() {
        return Err(ReattemptError::MoneyWentBack);
    }
    // After a resubmission the known tier may be an operator's own choice for a session without one, which they may
    // correct. The verdict function uses a tier of the session in any case.
    if let (Some(paid), Some(submission), false) = (sale.tier(), submission, sale.is_resubmitted())
        && paid != submission.tier
    {
        return Err(ReattemptError::OtherTier { paid, handed_in: submission.tier });
    }
    if declined.is_some() {
        return Err(ReattemptError::Declined);
    }
    match sale.fulfilment() {
        Fulfilment::Unusable { .. } if submission.is_none() && !sale.is_resubmitted() => {
            Err(ReattemptError::NoSubmission)
        }
        // A new attempt settles every reply.
        Fulfilment::Failed { .. } | Fulfilment::Unusable { .. } if !replies::are_read(sale, read) => {
            Err(ReattemptError::Unread)
        }
        Fulfilment::Failed { .. } | Fulfilment::Unusable { .. } => Ok(Reattempt::Ordered),
        // An earlier run of this command may have ordered it and lost the reply; a second message finds the claim of
        // the first.
        Fulfilment::Ordered { .. } if sale.is_resubmitted() || submission.is_none() => Ok(Reattempt::AskedAgain),
        Fulfilment::Ordered { .. }
        | Fulfilment::Generating { .. }
        | Fulfilment::Ready { .. }
        | Fulfilment::InReview { .. }
        | Fulfilment::Erased { .. } => Err(ReattemptError::NotOpen),
    }
}

/// Whether a question is the one of the locked sale, or one that today's rules lock.
fn is_locked_too(sale: &Sale, query: &Query) -> bool {
    let is_locked_today = || authority::evaluate(query.as_str(), sale.locale()).override_prohibited();
    sale.query_hash() == Some(hash::query_hash(query).as_str()) || is_locked_today()
}

/// Orders the verdict again: with the submission that the operator hands in, or with the one that Stripe has. The
/// operator has `read` these replies (by [`replies::name`]).
///
/// # Errors
/// [`ReattemptError`]. Repeating is safe.
pub async fn reattempt(
    ports: Ports<'_>,
    operator: &Operator,
    session: &SessionId,
    submission: Option<&Submission>,
    read: &[String],
) -> Done<Reattempt, ReattemptError> {
    let journal = ports.journal;
    let (sale, planned) = load(ports, session, submission, read).await?;
    if matches!(planned, Err(ReattemptError::Locked)) {
        authority_gate::record_override(journal, sale, authority_gate::without_role(operator), false).await?;
        return Err(ReattemptError::Locked.into());
    }
    planned?;
    if let Some(submission) = submission {
        // Stored first, because the order needs it; also if it was ordered before, because this may be a correction.
        ports.submissions.keep(session, submission).await?;
    }
    let received_at = sale.value.received_at();
    let order = |sale: &mut Sale, now| order(sale, operator, submission, read, now);
    let ordered = journal.commit(sale, order).await?.settle().await.1?;
    let not_sent = "the verdict is ordered, but its message was not sent; repeating the command is safe";
    let message = Message::order(session.clone(), received_at, OrderedBy::Operator);
    ports.orders.send(&message).await.map_err(|error| PartFailed::new(not_sent, error))?;
    Ok(ordered)
}

fn order(
    sale: &mut Sale,
    operator: &Operator,
    submission: Option<&Submission>,
    read: &[String],
    now: Timestamp,
) -> Change<Result<Reattempt, ReattemptError>> {
    let planned = planned(sale, submission, read);
    if !matches!(planned, Ok(Reattempt::Ordered)) {
        return Change::nothing(planned);
    }
    match sale.reattempt(operator, submission.is_some(), now) {
        Ok(event) => Change::of(&event, &Context::at(now), planned),
        Err(_) => Change::nothing(planned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NotDone::Refused;
    use crate::testing::{at, decisions, journal, operator, sale, session, stored, whatever_breaks, world_with};
    use domain::{
        inbox::Reply,
        mail::{Mail, Progress},
        money::Money,
        open_work::Work,
    };
    use testkit::{World, run, sale::WithField};

    fn unusable() -> Sale {
        let notice = Mail::Dead { at: at(-90), progress: Progress::default() };
        sale()
            .with("fulfilment", Fulfilment::Unusable { at: at(-100) })
            .with("mail", Mail::NotOrdered)
            .with("notice", notice)
    }

    fn failed() -> Sale {
        unusable().with("fulfilment", Fulfilment::Failed { reason: "QUOTA".into(), at: at(-100) })
    }

    fn submission() -> Submission {
        Submission { tier: Tier::Quick, query: Query::parse("Should I move?").unwrap() }
    }

    fn reply(message: &str) -> Reply {
        Reply {
            message: message.into(),
            at: at(-50),
            from_buyer: None,
            settled_at: None,
            followup: None,
            is_report: false,
        }
    }

    fn read(replies: &[Reply]) -> Vec<String> {
        replies.iter().map(replies::name).collect()
    }

    /// Tries again for an operator who has read the reply `m`.
    async fn go(world: &World, submission: Option<&Submission>) -> Done<Reattempt, ReattemptError> {
        let ports = Ports { journal: journal(world), submissions: world, orders: world };
        reattempt(ports, &operator(), &session(), submission, &read(&[reply("m")])).await
    }

    #[test]
    fn a_reply_becomes_an_order_to_the_standard_pipeline() {
        let world = world_with(unusable());
        assert_eq!(run(go(&world, Some(&submission()))).unwrap().unwrap(), Reattempt::Ordered);
        let sale = stored(&world);
        assert_eq!((sale.is_resubmitted(), sale.fulfilment()), (true, &Fulfilment::Ordered { at: at(0) }));
        assert_eq!(sale.open_work().map(|open| open.work), Some(Work::InFlight));
        let state = world.state();
        assert_eq!(state.submissions[&session()], submission());
        assert!(matches!(state.queue[0].0, Message::Order { ordered_by: OrderedBy::Operator, .. }));
        assert!(state.cache.is_empty(), "no verdict by hand");
        let log: String = state.log.values().cloned().collect();
        assert!(log.contains("\"by\":\"dana\"") && !log.contains("Should I move"), "{log}");
    }

    #[test]
    fn trying_again_settles_the_reply_that_asked_for_it() {
        let world = world_with(unusable().with("replies", vec![reply("m")]));
        run(go(&world, Some(&submission()))).unwrap().unwrap();
        assert_eq!(stored(&world).waiting_replies().count(), 0);
    }

    /// Otherwise it stays unread, and the verdict answers the question before it.
    #[test]
    fn a_reply_that_arrives_after_the_operator_has_read_is_read_first() {
        let before = unusable().with("replies", vec![reply("m"), reply("a later one")]);
        let world = world_with(before.clone());
        let refused = run(go(&world, Some(&submission()))).unwrap();
        assert!(matches!(refused, Err(Refused(ReattemptError::Unread))), "{refused:?}");
        assert_eq!(stored(&world), before);
        assert!(world.state().queue.is_empty() && world.state().submissions.is_empty());
    }

    /// An operator handed in the wrong text, and notices before a worker takes the order.
    #[test]
    fn a_correction_replaces_the_question_of_an_order_that_waits() {
        let world = world_with(unusable());
        run(go(&world, Some(&submission()))).unwrap().unwrap();
        let corrected = Submission { query: Query::parse("Should I stay?").unwrap(), ..submission() };
        assert_eq!(run(go(&world, Some(&corrected))).unwrap().unwrap(), Reattempt::AskedAgain);
        assert_eq!(world.state().submissions[&session()], corrected);
    }

    #[test]
    fn a_failed_sale_needs_no_reply_and_an_unusable_one_does() {
        let world = world_with(failed());
        assert_eq!(run(go(&world, None)).unwrap().unwrap(), Reattempt::Ordered);
        assert!(!stored(&world).is_resubmitted());
        let world = world_with(unusable());
        assert!(matches!(run(go(&world, None)), Some(Err(Refused(ReattemptError::NoSubmission)))));
        assert!(world.state().queue.is_empty() && stored(&world) == unusable());
    }

    #[test]
    fn another_tier_than_the_sales_is_refused_unless_an_operator_chose_it() {
        let other = Submission { tier: Tier::Full, ..submission() };
        for open in [unusable(), failed()] {
            let world = world_with(open.clone());
            let refused = run(go(&world, Some(&other))).unwrap().unwrap_err();
            assert!(refused.is_refusal());
            assert_eq!(refused.to_string(), "the customer paid for quick, not for full");
            assert_eq!(stored(&world), open);
            let state = world.state();
            assert_eq!((state.submissions.len(), state.queue.len()), (0, 0));
        }
        for chosen in [failed().with("resubmitted", true), unusable().with("tier", None::<Tier>)] {
            let world = world_with(chosen);
            assert_eq!(run(go(&world, Some(&other))).unwrap().unwrap(), Reattempt::Ordered);
        }
    }

    #[test]
    fn what_is_neither_failed_nor_unusable_or_was_paid_back_is_left_alone() {
        let refunded = failed().with("money", Money::Refunded { at: at(-1) });
        let held = sale().with("fulfilment", Fulfilment::InReview { gate: domain::Gate::BeforeCache, at: at(-1) });
        let waiting = sale().with("fulfilment", Fulfilment::Ordered { at: at(-1) });
        for (left, went_back) in [(sale(), false), (refunded, true), (held, false), (waiting, false)] {
            let world = world_with(left.clone());
            match run(go(&world, Some(&submission()))).unwrap().unwrap_err() {
                Refused(ReattemptError::MoneyWentBack) => assert!(went_back),
                Refused(ReattemptError::NotOpen) => assert!(!went_back),
                error => panic!("{error}"),
            }
            assert_eq!(stored(&world), left);
            assert!(world.state().queue.is_empty() && world.state().submissions.is_empty());
        }
    }

    /// A follow-up's own money is kept, and that of the session which includes it may have gone back.
    #[test]
    fn a_plan_says_what_the_command_does_and_changes_nothing() {
        let refunded = || sale().with("money", Money::Refunded { at: at(-1) });
        for (id, of_session, goes_through) in [
            (session(), failed(), true),
            (session(), refunded(), false),
            (session().followup(), sale(), true),
            (session().followup(), refunded(), false),
        ] {
            let world = world_with(of_session.clone());
            if id.is_followup() {
                let followup = failed().with("session_id", id.clone());
                world.state().sales.insert(id.clone(), (followup, 1));
            }
            let ports = || Ports { journal: journal(&world), submissions: &world, orders: &world };
            let planned = run(plan(ports(), &id, None, &[])).unwrap();
            assert_eq!(stored(&world), of_session);
            assert!(world.state().queue.is_empty() && world.state().log.is_empty(), "{id:?}");
            let ordered = run(reattempt(ports(), &operator(), &id, None, &[])).unwrap();
            assert_eq!(format!("{planned:?}"), format!("{ordered:?}"));
            assert_eq!(planned.is_ok(), goes_through, "{planned:?}");
        }
    }

    #[test]
    fn whatever_breaks_repeating_the_command_orders_once() {
        let check = |world: &World, what: &str| {
            let sale = stored(world);
            assert!(sale.is_resubmitted() && matches!(sale.fulfilment(), Fulfilment::Ordered { .. }), "{what}");
            assert_eq!(world.state().submissions[&session()], submission(), "{what}");
            assert_eq!(decisions(world).len(), 1, "{what}");
            assert!(!world.state().queue.is_empty(), "{what}");
        };
        whatever_breaks(|| world_with(unusable()), |world| run(go(world, Some(&submission()))), check);
    }
}

//! Refunds by an operator's decision (Silent Drop, output 3 and invariant 6): recorded first, then carried out.

use crate::{Done, Operator, PartFailed, Refusals};
use audit::{Change, Context, Journal};
use domain::{
    CheckoutSession, Sale, SessionId, Timestamp,
    money::{Authorisation, Money},
    open_work::Work,
    ports::Versioned,
    recorded_words::InvalidWords,
};
use refund::{Decision, Outcome, Ports};

/// Why no money was refunded.
#[derive(Debug, thiserror::Error)]
pub enum IssueError {
    /// There is no such sale.
    #[error("there is no such sale")]
    NoSale,
    /// A reason is missing.
    #[error("a refund needs a reason")]
    NoReason,
    /// It was selected from a list, and is not on it any more.
    #[error("the sale is no longer on the list: name it to refund it anyway")]
    Moved,
    /// The name or the reason cannot be recorded.
    #[error(transparent)]
    Authorisation(#[from] InvalidWords),
    /// Stripe shows no payment.
    #[error("Stripe says that the session is not paid")]
    NotPaid,
    /// The payment is disputed: the customer's bank has the money.
    #[error("the payment is disputed: Stripe refuses refunds until that is decided")]
    Disputed,
    /// Stripe refused the refund.
    #[error("the refund is authorised, and Stripe refused it ({0}): {asked_again}", asked_again = refund::ASKED_AGAIN)]
    Failed(String),
    /// Stripe made the refund, and the money bounced.
    #[error("the refund came back ({0}): {issue_again}", issue_again = refund::ISSUE_AGAIN)]
    Bounced(String),
}

impl Refusals for IssueError {}

/// The state of a refund.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Issued {
    /// The money is in transit to the customer, or has arrived.
    Refunded,
    /// The money had gone back before this command.
    AlreadyRefunded,
    /// Stripe is processing it; the deadlines function asks again.
    Pending,
}

/// Refunds the money of a sale; for a follow-up, that of the session that includes it, both together. A sale whose
/// refund was authorised before keeps that authorisation: the refund is only carried out again, and Stripe makes one
/// refund of all attempts.
///
/// `listed` is the kinds of work that selected the sale, if its operator did not name it: a sale that has moved on since,
/// for example because a colleague has ordered its verdict again, is not refunded.
///
/// # Errors
/// [`IssueError`]. Repeating is safe.
pub async fn issue(
    ports: Ports<'_>,
    operator: &Operator,
    named: &SessionId,
    listed: Option<&[Work]>,
) -> Done<Issued, IssueError> {
    let reason = operator.reason().ok_or(IssueError::NoReason)?;
    let authorisation = Authorisation::by_operator(operator, reason).map_err(IssueError::from)?;
    let Found { sale, checkout, listed } = find(ports, named, listed).await?;
    let decide = |sale: &mut Sale, now| decide(sale, &checkout, &authorisation, listed, now);
    let (_, decided) = ports.journal.commit(sale, decide).await?.settle().await;
    if planned(decided)? == Planned::AlreadyRefunded {
        return Ok(Issued::AlreadyRefunded);
    }
    let not_confirmed = "the refund is authorised, and Stripe has not confirmed it; repeating the command is safe";
    let carried_out = refund::carry_out(ports, &named.paid_session()).await;
    match carried_out.map_err(|error| PartFailed::new(not_confirmed, error))? {
        Outcome::Refunded => Ok(Issued::Refunded),
        Outcome::Pending => Ok(Issued::Pending),
        Outcome::Refused(code) => Err(IssueError::Failed(code).into()),
        Outcome::Bounced { code, .. } => Err(IssueError::Bounced(code).into()),
        // Stripe's own event came first, and reported a dispute.
        Outcome::NotAuthorised => Err(IssueError::Disputed.into()),
    }
}

/// The effect that [`issue`] would have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Planned {
    /// A refund would be decided and carried out.
    Refund,
    /// A refund was decided before, and would be carried out.
    CarryOut,
    /// None: the money has gone back already.
    AlreadyRefunded,
}

/// The effect that [`issue`] would have with the same arguments. Nothing is changed, and the operator needs no reason.
///
/// # Errors
/// [`IssueError`], as [`issue`] would return it.
pub async fn plan(
    ports: Ports<'_>,
    operator: &Operator,
    named: &SessionId,
    listed: Option<&[Work]>,
) -> Done<Planned, IssueError> {
    let reason = operator.reason().unwrap_or("a dry run");
    let authorisation = Authorisation::by_operator(operator, reason).map_err(IssueError::from)?;
    let Found { mut sale, checkout, listed } = find(ports, named, listed).await?;
    Ok(planned(decide(&mut sale.value, &checkout, &authorisation, listed, ports.journal.clock.now()).answer)?)
}

/// The sale whose money is asked for.
struct Found<'a> {
    sale: Versioned<Sale>,
    /// Stripe's current state of its session.
    checkout: CheckoutSession,
    /// The kinds of work that selected this sale. A follow-up's work is its own, and was checked.
    listed: Option<&'a [Work]>,
}

/// Finds the sale whose money the named sale was paid with.
async fn find<'a>(ports: Ports<'_>, named: &SessionId, listed: Option<&'a [Work]>) -> Done<Found<'a>, IssueError> {
    let session = &named.paid_session();
    let sale = ports.journal.store.load(session).await?.ok_or(IssueError::NoSale)?;
    let is_named = named == session;
    if !is_named && ports.journal.store.load(named).await?.is_some_and(|followup| has_moved(&followup.value, listed)) {
        return Err(IssueError::Moved.into());
    }
    let checkout = ports.payments.session(session).await?;
    Ok(Found { sale, checkout, listed: listed.filter(|_| is_named) })
}

/// Whether a sale has left the list that selected it.
fn has_moved(sale: &Sale, listed: Option<&[Work]>) -> bool {
    let work = sale.open_work().map(|open| open.work);
    listed.is_some_and(|listed| !work.is_some_and(|work| listed.contains(&work)))
}

/// Decides about the money; `None` if the sale has left its list. A refund that was decided before is only carried out
/// again.
fn decide(
    sale: &mut Sale,
    checkout: &CheckoutSession,
    authorisation: &Authorisation,
    listed: Option<&[Work]>,
    now: Timestamp,
) -> Change<Option<Decision>> {
    if sale.is_money_kept() && has_moved(sale, listed) {
        return Change::nothing(None);
    }
    refund::decide(sale, checkout, authorisation, now).map(Some)
}

fn planned(decided: Option<Decision>) -> Result<Planned, IssueError> {
    match decided.ok_or(IssueError::Moved)? {
        Decision::Authorised => Ok(Planned::Refund),
        Decision::AlreadyAuthorised => Ok(Planned::CarryOut),
        Decision::AlreadyRefunded => Ok(Planned::AlreadyRefunded),
        Decision::Disputed => Err(IssueError::Disputed),
        Decision::NotPaid => Err(IssueError::NotPaid),
    }
}

/// Why a refund by hand was not recorded.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// A reason is missing.
    #[error("recording a refund by hand needs a reason")]
    NoReason,
    /// No refund is under way or has failed.
    #[error("no refund of this sale is under way or has failed; oracle show says where the money is")]
    NothingToRecord,
}

impl Refusals for RecordError {}

/// Records that an operator gives the money of a session back by other means than Stripe: the end of a refund that
/// bounces for good, and of the requests for one that Stripe refuses. The operator sends the money after it, because
/// Stripe may make the refund until then. An open follow-up of the session stops too.
///
/// # Errors
/// [`RecordError`]. Repeating is safe.
pub async fn record(journal: Journal<'_>, operator: &Operator, session: &SessionId) -> Done<(), RecordError> {
    if operator.reason().is_none() {
        return Err(RecordError::NoReason.into());
    }
    let record = |sale: &mut Sale, now| Change::made(sale.refunded_by_hand(operator, now), &Context::at(now));
    let session = session.paid_session();
    let sale = journal.store.load(&session).await?.ok_or(RecordError::NothingToRecord)?;
    let (sale, mut is_recorded) = journal.commit(sale, record).await?.settle().await;
    // Also done if an earlier command failed between the two sales.
    if matches!(sale.value.money(), Money::Refunded { .. })
        && let Some(followup) = journal.store.load(&session.followup()).await?
    {
        is_recorded |= journal.commit(followup, record).await?.settle().await.1;
    }
    if is_recorded { Ok(()) } else { Err(RecordError::NothingToRecord.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NotDone::{self, Refused};
    use crate::testing::{
        at, journal, operator, sale, session, stored, whatever_breaks, whatever_breaks_or_is_done, world_with,
    };
    use domain::{
        PaymentStatus,
        money::{PaymentId, RefundStatus},
        sale::Fulfilment,
    };
    use testkit::sale::WithField;
    use testkit::{World, run};

    fn failed() -> World {
        let sale = sale().with("fulfilment", Fulfilment::Failed { reason: "QUOTA".into(), at: at(-100) });
        let world = world_with(sale);
        let payment = PaymentId::parse("pi_1").unwrap();
        world.state().sessions.values_mut().for_each(|session| session.payment = Some(payment.clone()));
        world
    }

    async fn go(world: &World) -> Done<Issued, IssueError> {
        let ports = Ports { journal: journal(world), payments: world, ledger: world };
        issue(ports, &operator(), &session(), None).await
    }

    #[test]
    fn a_refund_names_the_operator_and_the_reason_and_ends_the_sale() {
        let world = failed();
        assert_eq!(run(go(&world)).unwrap().unwrap(), Issued::Refunded);
        assert_eq!(stored(&world).open_work(), None);
        let log: String = world.state().log.values().cloned().collect();
        assert!(log.contains("\"by\":\"dana\",\"reason\":\"looked at it\""), "{log}");
        assert_eq!(run(go(&world)).unwrap().unwrap(), Issued::AlreadyRefunded);
        assert_eq!(world.state().refunds.len(), 1);
    }

    #[test]
    fn nothing_goes_back_without_a_sale_a_reason_or_a_payment() {
        let world = failed();
        let ports = Ports { journal: journal(&world), payments: &world, ledger: &world };
        let nameless = Operator::parse("dana", None).unwrap();
        assert!(matches!(run(issue(ports, &nameless, &session(), None)), Some(Err(Refused(IssueError::NoReason)))));
        let stranger = SessionId::parse("cs_test_unknown").unwrap();
        assert!(matches!(run(issue(ports, &operator(), &stranger, None)), Some(Err(Refused(IssueError::NoSale)))));
        world.state().sessions.values_mut().for_each(|session| session.payment_status = PaymentStatus::Unpaid);
        assert!(matches!(run(go(&world)), Some(Err(Refused(IssueError::NotPaid)))));
        assert_eq!(*stored(&world).money(), Money::Kept);
        let disputed = failed();
        disputed.change_sales("money", &Money::Disputed { at: at(-1), refund: None, bounced: false });
        assert!(run(go(&disputed)).unwrap().unwrap_err().is_refusal());
        assert!(world.state().refunds.is_empty() && disputed.state().refunds.is_empty());
    }

    /// Between the list and the decision minutes may pass, in which a colleague orders the verdict again.
    #[test]
    fn a_sale_that_left_the_list_is_refunded_only_by_name() {
        let listed: &[Work] = &[Work::Failed, Work::Unusable];
        let delivered = Fulfilment::Ready { at: at(-10), archived: true };
        for (moved, expected) in [(None, true), (Some(delivered), false)] {
            let world = failed();
            if let Some(fulfilment) = moved {
                world.change_sales("fulfilment", &fulfilment);
            }
            let ports = Ports { journal: journal(&world), payments: &world, ledger: &world };
            let issued = run(issue(ports, &operator(), &session(), Some(listed))).unwrap();
            assert_eq!(issued.is_ok(), expected, "{issued:?}");
            assert_eq!(world.state().refunds.len(), usize::from(expected));
            if expected {
                let again = run(issue(ports, &operator(), &session(), Some(listed))).unwrap();
                assert_eq!(again.unwrap(), Issued::AlreadyRefunded, "repeating is safe");
            } else {
                assert!(matches!(issued, Err(Refused(IssueError::Moved))));
                assert_eq!(run(go(&world)).unwrap().unwrap(), Issued::Refunded, "by name");
            }
        }
    }

    #[test]
    fn a_plan_says_what_the_command_does_and_changes_nothing() {
        let with = |money: Money| {
            let world = failed();
            world.change_sales("money", &money);
            // A follow-up has no money of its own.
            world.state().sales.insert(session().followup(), (Sale::ordered(session().followup(), at(-50)), 1));
            world
        };
        let authorisation = Authorisation::parse("kim", "asked for").unwrap();
        let nameless = Operator::parse("dana", None).unwrap();
        for (money, expected, issued) in [
            (Money::Kept, Planned::Refund, Issued::Refunded),
            (Money::RefundFailed { at: at(-1), refund: None }, Planned::Refund, Issued::Refunded),
            (Money::RefundAuthorised { authorisation, at: at(-1) }, Planned::CarryOut, Issued::Refunded),
            (Money::Refunded { at: at(-1) }, Planned::AlreadyRefunded, Issued::AlreadyRefunded),
        ] {
            for named in [session(), session().followup()] {
                let world = with(money.clone());
                let ports = Ports { journal: journal(&world), payments: &world, ledger: &world };
                assert_eq!(run(plan(ports, &nameless, &named, None)).unwrap().unwrap(), expected, "{money:?}");
                assert_eq!(*stored(&world).money(), money);
                assert!(world.state().refunds.is_empty() && world.state().log.is_empty(), "{money:?}");
                assert_eq!(run(issue(ports, &operator(), &named, None)).unwrap().unwrap(), issued, "{money:?}");
            }
        }
        let unpaid = failed();
        unpaid.state().sessions.values_mut().for_each(|session| session.payment_status = PaymentStatus::Unpaid);
        let ports = Ports { journal: journal(&unpaid), payments: &unpaid, ledger: &unpaid };
        assert!(matches!(run(plan(ports, &operator(), &session(), None)), Some(Err(Refused(IssueError::NotPaid)))));
        let moved = run(plan(ports, &operator(), &session(), Some(&[Work::Unusable]))).unwrap();
        assert!(matches!(moved, Err(Refused(IssueError::Moved))), "{moved:?}");
    }

    #[test]
    fn a_refund_that_stripe_refuses_stays_authorised() {
        let world = failed();
        world.state().refund_refused = Some("balance_insufficient".to_owned());
        assert!(matches!(run(go(&world)), Some(Err(Refused(IssueError::Failed(_))))));
        assert!(matches!(stored(&world).money(), Money::RefundAuthorised { .. }));
        world.state().refund_refused = None;
        assert_eq!(run(go(&world)).unwrap().unwrap(), Issued::Refunded);
    }

    #[test]
    fn a_refund_that_bounced_is_issued_again_or_recorded_as_given_back_by_hand() {
        for by_hand in [false, true] {
            let world = failed();
            world.state().refund_status = Some(RefundStatus::Failed);
            assert!(matches!(run(go(&world)), Some(Err(Refused(IssueError::Bounced(_))))));
            assert!(matches!(stored(&world).money(), Money::RefundFailed { .. }));
            world.state().refund_status = None;
            if by_hand {
                run(record(journal(&world), &operator(), &session())).unwrap().unwrap();
                let again = run(record(journal(&world), &operator(), &session())).unwrap();
                assert!(matches!(again, Err(Refused(RecordError::NothingToRecord))));
                let log: String = world.state().log.values().cloned().collect();
                assert!(log.contains("\"action\":\"refunded by hand\",\"by\":\"dana\""), "{log}");
            } else {
                assert_eq!(run(go(&world)).unwrap().unwrap(), Issued::Refunded);
            }
            assert!(matches!(stored(&world).money(), Money::Refunded { .. }));
            assert_eq!(stored(&world).open_work(), None);
        }
        let kept = failed();
        let refused = run(record(journal(&kept), &operator(), &session())).unwrap();
        assert!(refused.unwrap_err().is_refusal(), "no refund was ever decided");
    }

    /// Stripe sends no event about this, so the command itself updates the follow-up.
    #[test]
    fn money_given_back_by_hand_stops_an_open_follow_up_too_whatever_breaks() {
        let fresh = || {
            let world = failed();
            world.change_sales("money", &Money::RefundFailed { at: at(-1), refund: None });
            let followup = Sale::ordered(session().followup(), at(-50));
            world.state().sales.insert(session().followup(), (followup, 1));
            world
        };
        let go = |world: &World| run(record(journal(world), &operator(), &session()));
        let is_done = |refused: &NotDone<RecordError>| matches!(refused, Refused(RecordError::NothingToRecord));
        whatever_breaks_or_is_done(fresh, go, is_done, |world, what| {
            for id in [session(), session().followup()] {
                let sale = world.state().sales[&id].0.clone();
                assert!(matches!(sale.money(), Money::Refunded { .. }), "{what}");
                assert_eq!(sale.open_work(), None, "{what}");
            }
        });
    }

    #[test]
    fn whatever_breaks_repeating_the_command_gives_the_money_back_once() {
        let check = |world: &World, what: &str| {
            assert!(matches!(stored(world).money(), Money::Refunded { .. }), "{what}");
            assert_eq!(world.state().refunds.len(), 1, "{what}");
            let log: Vec<String> = world.state().log.values().cloned().collect();
            assert_eq!(log.iter().filter(|line| line.contains("\"step\":\"authorised\"")).count(), 1, "{what}");
        };
        whatever_breaks(failed, |world| run(go(world)), check);
    }
}

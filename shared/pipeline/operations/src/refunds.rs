//! A refund that an operator decides (Silent Drop, output 3 and invariant 6): on record first, then carried out.

use crate::Operator;
use audit::CommitError;
use domain::{
    SessionId, StepError,
    money::Authorisation,
    ports::{PaymentError, StorageError},
    words::InvalidWords,
};
use refund::{Decision, Outcome, Ports};

/// Why no money went back.
#[derive(Debug, thiserror::Error)]
pub enum IssueError {
    /// Nobody has seen this sale.
    #[error("there is no such sale")]
    NoSale,
    /// A refund has a reason.
    #[error("a refund needs a reason")]
    NoReason,
    /// The name or the reason cannot go on record.
    #[error(transparent)]
    Authorisation(#[from] InvalidWords),
    /// Stripe says that nothing was paid.
    #[error("Stripe says that the session is not paid")]
    NotPaid,
    /// The customer's bank has the money.
    #[error("the payment is disputed: Stripe refuses refunds until that is decided")]
    Disputed,
    /// Stripe refused the refund.
    #[error("the refund is authorised, and Stripe refused it ({0}): it is asked for again, or give it back by hand")]
    Failed(String),
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// Stripe could not be asked.
    #[error(transparent)]
    Payment(#[from] PaymentError),
    /// The sale could not be changed.
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// It is authorised, and it is not known whether Stripe has it: repeat the command, or leave it to the
    /// deadlines function.
    #[error("the refund is authorised, and Stripe has not confirmed it; repeating the command is safe")]
    NotCarriedOut(#[source] StepError),
}

impl IssueError {
    /// Whether the answer is no, rather than that something broke.
    #[must_use]
    pub const fn is_refusal(&self) -> bool {
        match self {
            Self::NoSale
            | Self::NoReason
            | Self::Authorisation(_)
            | Self::NotPaid
            | Self::Disputed
            | Self::Failed(_) => true,
            Self::Storage(_) | Self::Payment(_) | Self::Commit(_) | Self::NotCarriedOut(_) => false,
        }
    }
}

/// How a refund stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Issued {
    /// The money is on its way to the customer, or there.
    Refunded,
    /// It was back before this command.
    AlreadyRefunded,
    /// Stripe works on it; the deadlines function asks again.
    Pending,
}

/// Gives the money of a sale back. A sale whose refund was authorised before keeps that authority; it is only
/// carried out again, and Stripe makes one refund of all attempts.
///
/// # Errors
/// [`IssueError`]. Repeating is safe.
pub async fn issue(ports: Ports<'_>, operator: &Operator, session: &SessionId) -> Result<Issued, IssueError> {
    let authorisation = Authorisation::parse(operator.name(), operator.reason().ok_or(IssueError::NoReason)?)?;
    if ports.journal.store.load(session).await?.is_none() {
        return Err(IssueError::NoSale);
    }
    let checkout = ports.payments.session(session).await?;
    let now = ports.journal.clock.now();
    match refund::authorise(ports.journal, &checkout, &authorisation, now).await? {
        Decision::Authorised | Decision::AlreadyAuthorised => {}
        Decision::AlreadyRefunded => return Ok(Issued::AlreadyRefunded),
        Decision::Disputed => return Err(IssueError::Disputed),
        Decision::NotPaid => return Err(IssueError::NotPaid),
    }
    match refund::carry_out(ports, session).await.map_err(IssueError::NotCarriedOut)? {
        Outcome::Refunded => Ok(Issued::Refunded),
        Outcome::Pending => Ok(Issued::Pending),
        Outcome::Failed(code) => Err(IssueError::Failed(code)),
        // Stripe's own event was faster, and told of a dispute.
        Outcome::NotAuthorised => Err(IssueError::Disputed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{at, journal, operator, sale, session, stored, whatever_breaks, world_with};
    use domain::{
        PaymentStatus,
        money::{Money, PaymentId},
        ports::RefundStatus,
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

    async fn go(world: &World) -> Result<Issued, IssueError> {
        let ports = Ports { journal: journal(world), payments: world, ledger: world };
        issue(ports, &operator(), &session()).await
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
        assert!(matches!(run(issue(ports, &nameless, &session())), Some(Err(IssueError::NoReason))));
        let stranger = SessionId::parse("cs_test_unknown").unwrap();
        assert!(matches!(run(issue(ports, &operator(), &stranger)), Some(Err(IssueError::NoSale))));
        world.state().sessions.values_mut().for_each(|session| session.payment_status = PaymentStatus::Unpaid);
        assert!(matches!(run(go(&world)), Some(Err(IssueError::NotPaid))));
        assert_eq!(*stored(&world).money(), Money::Kept);
        let disputed = failed();
        disputed
            .state()
            .sales
            .values_mut()
            .for_each(|(sale, _)| *sale = sale.with("money", Money::Disputed { at: at(-1), refund: None }));
        assert!(run(go(&disputed)).unwrap().unwrap_err().is_refusal());
        assert!(world.state().refunds.is_empty() && disputed.state().refunds.is_empty());
    }

    #[test]
    fn a_refund_that_stripe_refuses_stays_authorised() {
        let world = failed();
        world.state().refund_status = Some(RefundStatus::Failed);
        assert!(matches!(run(go(&world)), Some(Err(IssueError::Failed(_)))));
        assert!(matches!(stored(&world).money(), Money::RefundAuthorised { .. }));
        world.state().refund_status = None;
        assert_eq!(run(go(&world)).unwrap().unwrap(), Issued::Refunded);
    }

    #[test]
    fn whatever_breaks_repeating_the_command_gives_the_money_back_once() {
        let fresh = || -> &'static World { Box::leak(Box::new(failed())) };
        whatever_breaks(fresh, go, |world, what| {
            assert!(matches!(stored(world).money(), Money::Refunded { .. }), "{what}");
            assert_eq!(world.state().refunds.len(), 1, "{what}");
            let log: Vec<String> = world.state().log.values().cloned().collect();
            assert_eq!(log.iter().filter(|line| line.contains("\"step\":\"authorised\"")).count(), 1, "{what}");
        });
    }
}

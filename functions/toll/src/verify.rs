//! Asks the facilitator and the node about payments. Anybody can sign a payment without funds, or name a transaction that
//! does not exist, so questions about payments that have bought nothing are limited.

use crate::{payment_means::Unusable, reply, sell::PaidRequest};
use chain::payment::PaymentError;
use domain::{
    Timestamp,
    ports::{FacilitatorError, PaymentUse},
    toll::SignedPayment,
    unknown_ids::{Answer, NotAnswered},
};
use runtime::{http::Reply, telemetry};

impl PaidRequest<'_> {
    /// Asks about a payment that has no purchase yet. The error is the reply beyond the limits. The question stays counted if
    /// it fails, or if `is_free` tells of its answer that anybody can have such a payment.
    pub(crate) async fn ask_within_limits<T: Send, E: Send>(
        &self,
        question: impl Future<Output = Result<T, E>> + Send,
        is_free: impl Fn(&T) -> bool + Send,
    ) -> Result<Result<T, E>, Reply> {
        // No payment is remembered as unknown: a transfer may be seen a moment later.
        let from = ("", self.network.as_deref(), self.asked_at);
        let question = async { question.await.map(Some) };
        match self.ports.payments.ask(self.ports.unknown_ids, from, question, is_free).await {
            Ok(Answer::Known(known)) => Ok(Ok(known)),
            Err(NotAnswered::Vendor(error)) => Ok(Err(error)),
            Ok(Answer::Unknown | Answer::TooMany) => Err(reply::busy()),
            Err(NotAnswered::Storage(error)) => {
                tracing::error!(error = telemetry::chain(&error), "a question about a payment was not counted");
                Err(reply::not_now())
            }
        }
    }

    /// Whether the payment can be used. The outer error is the reply beyond the limits, which are only for new payments: a
    /// purchase exists only for a payment that was verified before.
    pub(crate) async fn verified(
        &self,
        is_new: bool,
        signed: &SignedPayment,
        now: Timestamp,
    ) -> Result<Result<(), Unusable>, Reply> {
        let question = self.verify(signed, now);
        if is_new { self.ask_within_limits(question, |()| false).await } else { Ok(question.await) }
    }

    /// Whether the payment can be used. The error is the reply if it cannot.
    async fn verify(&self, signed: &SignedPayment, now: Timestamp) -> Result<(), Unusable> {
        // What it means if the chain shows no use of the payment; `None` if the payment is refused then.
        let (problem, unused) = match self.means.check_time(now) {
            Ok(()) => match self.ports.facilitator.verify(signed).await {
                Ok(()) => return Ok(()),
                Err(error @ FacilitatorError::Refused(_)) => {
                    (error.to_string(), error.says_used().then_some("the chain does not show it yet"))
                }
                // The facilitator's own failure says nothing about the payment; the chain may.
                Err(error @ FacilitatorError::Unclear(_)) => {
                    tracing::error!(error = telemetry::chain(&error), "the facilitator could not check a payment");
                    (error.to_string(), Some("the chain does not show that it is used"))
                }
                Err(error @ (FacilitatorError::Pending | FacilitatorError::Unavailable(_))) => {
                    tracing::error!(error = telemetry::chain(&error), "the facilitator cannot be asked");
                    return Err(Unusable::Unknown(error.to_string()));
                }
            },
            Err(error @ PaymentError::Expired) => (error.to_string(), None),
            Err(error) => return Err(Unusable::Refused(error.to_string())),
        };
        // A third party that has seen a signed payment can submit it. The facilitator then refuses the payment, although
        // the payer has paid us.
        match (self.ports.node.payment_use(signed).await, unused) {
            (Ok(PaymentUse::Used { is_ours: true, .. }), _) => Ok(()),
            (Ok(PaymentUse::Untraced | PaymentUse::Unconfirmed), _) => {
                Err(Unusable::Unknown(format!("{problem}; the chain does not show where")))
            }
            // The node is asked some blocks below its head, so it does not show a submission of the last seconds.
            (Ok(PaymentUse::Unused { .. }), Some(unused)) => Err(Unusable::Unknown(format!("{problem}; {unused}"))),
            (Ok(_), _) => Err(Unusable::Refused(problem)),
            (Err(error), _) => {
                tracing::error!(error = telemetry::chain(&error), "the node cannot be asked");
                Err(Unusable::Unknown(format!("{problem}; the node cannot be asked")))
            }
        }
    }
}

//! Begins the purchase of a transfer that was made before.

use crate::{
    payment_means::{signed_purchase, unnamed},
    reply,
    sell::PaidRequest,
};
use audit::{Change, CommitError, TollStatus};
use domain::{
    Metric, SessionId, Timestamp,
    ports::{Transfer, Versioned},
    toll::{Offer, PaidBy, Purchase, Stage},
};
use runtime::{http::Reply, telemetry};

/// A smaller transfer is not given back: it is less than any price of ours, so it was not meant for an answer, and the
/// work of returning it costs more.
const WORTH_RETURNING: u64 = Offer::Query.price();

/// What the presenter of a signed payment's transaction reads. The payment itself buys.
const SIGNED: &str = "the transaction submits a signed payment: send that payment";

impl PaidRequest<'_> {
    /// Begins the purchase of a new transaction; `fresh` makes it from its id and its payer. A transaction that did not
    /// pay us leaves no purchase. An evaluation that declines the question is recorded whatever the transaction is.
    pub(crate) async fn begin_transfer(
        &self,
        transaction: &str,
        id: &SessionId,
        fresh: impl Fn(&SessionId, &str) -> Versioned<Purchase>,
    ) -> Result<Reply, CommitError> {
        let question = self.ports.node.transfer(transaction, self.price.amount);
        let is_free = |transfer: &Transfer| !matches!(transfer, Transfer::Paid { .. });
        let answer = match self.ask_within_limits(question, is_free).await {
            Ok(answer) => answer,
            Err(reply) => {
                self.record_declined().await;
                return Ok(reply);
            }
        };
        match answer {
            Ok(Transfer::Paid { payer }) => self.begin(fresh(id, &payer), None).await,
            Ok(Transfer::Other { payer, amount, is_late }) => {
                self.buys_nothing(transaction, of_amount(fresh(id, &payer), amount), amount, is_late).await
            }
            Ok(Transfer::Several(mut payers)) => {
                let why = "the transaction has several transfers to us, and buys only with one";
                payers.retain(|paid| paid.amount >= WORTH_RETURNING);
                let Some(first) = payers.first() else {
                    self.not_taken(TollStatus::PaymentRejected, why).await;
                    return Ok(self.required(why));
                };
                self.owe(transaction, of_payers(fresh(id, &first.payer), &payers), why).await
            }
            Ok(Transfer::Signed { payer, nonce, amount }) => {
                // Under the id of the signed payment, so that the signature cannot buy as well.
                let id = signed_purchase(self.price.network, &payer, &nonce).map_err(unnamed)?;
                let found = self.ports.journal.store.load(&id).await?;
                match found {
                    Some(found) if matches!(found.value.stage(), Stage::Owed { .. }) => Ok(self.owed(found).await),
                    None if amount >= WORTH_RETURNING => {
                        let why = "the transaction submits a signed payment that was not shown to us";
                        self.owe(transaction, of_amount(fresh(&id, &payer), amount), why).await
                    }
                    _ => {
                        self.not_taken(TollStatus::PaymentRejected, SIGNED).await;
                        Ok(self.required(SIGNED))
                    }
                }
            }
            Ok(Transfer::Unconfirmed(why)) => {
                self.record_declined().await;
                Ok(reply::unconfirmed(&why))
            }
            Ok(Transfer::Refused(why)) => {
                self.not_taken(TollStatus::PaymentRejected, &why).await;
                Ok(self.required(&why))
            }
            Err(error) => {
                tracing::error!(error = telemetry::chain(&error), "the node cannot be asked");
                self.count(Metric::TollUnreachable);
                self.not_taken(TollStatus::RpcUnreachable, "the node cannot be asked").await;
                Ok(reply::unreachable())
            }
        }
    }

    /// Replies to a transfer that paid us and cannot buy this answer. If it buys no other either, it is money that we owe.
    async fn buys_nothing(
        &self,
        transaction: &str,
        purchase: Versioned<Purchase>,
        amount: u64,
        is_late: bool,
    ) -> Result<Reply, CommitError> {
        let sold_for_it = Offer::ALL.into_iter().filter(|offer| *offer != self.offer && offer.price() == amount);
        let others: Vec<_> = sold_for_it.map(Offer::path).collect();
        let why = match (is_late, others.is_empty()) {
            (true, _) => "the transaction is too old".to_owned(),
            (false, true) => "the transaction does not transfer the amount that is asked for".to_owned(),
            (false, false) => format!("the transaction transfers the price of {}", others.join(" and ")),
        };
        if amount < WORTH_RETURNING || (!is_late && !others.is_empty()) {
            self.not_taken(TollStatus::PaymentRejected, &why).await;
            return Ok(self.required(&why));
        }
        self.owe(transaction, purchase, &why).await
    }

    /// Stores a transfer that can buy nothing as money that we owe.
    async fn owe(&self, transaction: &str, purchase: Versioned<Purchase>, why: &str) -> Result<Reply, CommitError> {
        let fresh = purchase.value.clone();
        let owe = |purchase: &mut Purchase, now: Timestamp| {
            // Another request has stored the transfer meanwhile: its row decides.
            if *purchase != fresh {
                return Change::nothing(());
            }
            settlement::owed(purchase, transaction, why, now, self.asked_at)
        };
        let (purchase, ()) = self.ports.journal.commit(purchase, owe).await?.settle().await;
        self.record_declined().await;
        Ok(if matches!(purchase.value.stage(), Stage::Owed { .. }) { reply::owed() } else { reply::in_progress() })
    }
}

fn of_amount(purchase: Versioned<Purchase>, amount: u64) -> Versioned<Purchase> {
    Versioned { value: purchase.value.of_amount(amount), ..purchase }
}

fn of_payers(purchase: Versioned<Purchase>, payers: &[PaidBy]) -> Versioned<Purchase> {
    Versioned { value: purchase.value.of_payers(payers), ..purchase }
}

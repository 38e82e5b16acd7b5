//! One sale: a payment that its payer signed, or a transaction, and a question.

use crate::{
    Ports, Settings,
    means::Checked,
    named::{self, Called, Name},
    rejected, reply,
};
use audit::{Change, CommitError, Record, TollStatus, digest};
use authority::{Evaluation, Refusal};
use chain::payment::Price;
use domain::{
    Metric, Query, Timestamp,
    ports::{FacilitatorError, StorageError, Transfer, Versioned},
    toll::{Claimed, InvalidPurchase, Offer, Paid, Purchase, Stage},
};
use runtime::{http::Reply, telemetry};
use serde_json::json;

/// One request that pays.
pub(crate) struct Sale<'a> {
    pub(crate) ports: Ports<'a>,
    pub(crate) settings: &'a Settings,
    pub(crate) offer: Offer,
    price: Price,
    pub(crate) query: Query,
    pub(crate) evaluation: Evaluation,
    pub(crate) means: Checked,
    pub(crate) asked_at: Timestamp,
}

/// A digest that names no purchase, which no digest is.
pub(crate) fn unnamed(error: InvalidPurchase) -> StorageError {
    StorageError { operation: "purchase id", source: Box::new(error) }
}

/// What a claim answers.
enum Begun {
    Granted,
    Busy,
    Ended,
    Other,
}

impl<'a> Sale<'a> {
    pub(crate) fn new(
        ports: Ports<'a>,
        settings: &'a Settings,
        offer: Offer,
        query: Query,
        evaluation: Evaluation,
        means: Checked,
        asked_at: Timestamp,
    ) -> Self {
        let price = settings.terms.price(offer);
        Self { ports, settings, offer, price, query, evaluation, means, asked_at }
    }

    /// Sells, or says why not.
    pub(crate) async fn sell(&self) -> Reply {
        match self.try_sell().await {
            Ok(reply) => reply,
            Err(error) => {
                tracing::error!(error = telemetry::chain(&error), "a payment could not be worked on");
                reply::not_now()
            }
        }
    }

    /// What is bought: the offer and the question.
    fn fingerprint(&self) -> String {
        digest::sha256(format!("{}\n{}", self.offer.path(), self.query.as_str()).as_bytes())
    }

    async fn try_sell(&self) -> Result<Reply, CommitError> {
        let id = self.means.purchase(&self.price).map_err(unnamed)?;
        let journal = self.ports.journal;
        let (fingerprint, now) = (self.fingerprint(), journal.clock.now());
        let called = named::look(journal.store, &self.means, &self.price, &id, &fingerprint, now).await?;
        let (found, name) = match called {
            Called::Own(name) => (journal.store.load(&id).await?, name),
            Called::Earlier(earlier) => (Some(*earlier), None),
            Called::Other => {
                self.not_taken(TollStatus::Replay, "the payment identifier was used for another request").await;
                return Ok(reply::other_request());
            }
            Called::Busy => return Ok(reply::in_progress()),
        };
        let Some(found) = found else {
            let paid = |payer: &str| {
                let resource = reply::resource(&self.settings.terms, self.offer);
                self.means.paid(&self.price, self.offer, &resource, payer)
            };
            let fresh = |paid: Paid| {
                let (fingerprint, hash) = (self.fingerprint(), digest::query_hash(&self.query));
                let value = Purchase::new(id.clone(), self.offer, fingerprint, hash, paid, self.asked_at);
                Versioned { value, version: 0 }
            };
            return match &self.means {
                Checked::Signed(..) => self.begin(fresh(paid("")), name).await,
                Checked::Transfer(transaction) => self.begin_transfer(transaction, |payer| fresh(paid(payer))).await,
            };
        };
        let found = journal.flush(found).await;
        if !found.value.is_for(&self.fingerprint()) {
            return self.repeated(found, reply::other_payload(), "the payment was used for another request").await;
        }
        match found.value.stage() {
            Stage::Settled { answer, .. } => {
                let reply = reply::answer(&found.value, answer, self.means.version());
                self.repeated(found, reply, "Transaction already used (replay attempt).").await
            }
            Stage::Settling { .. } => self.settle_again(found).await,
            Stage::Working { .. } | Stage::Unanswered => self.begin(found, name).await,
            Stage::Lapsed { .. } => Ok(self.required("the payment's time is over, and it was never settled")),
            Stage::Owed { .. } => Ok(reply::owed()),
        }
    }

    /// Counts what an alarm is raised by.
    pub(crate) fn count(&self, metric: Metric) {
        self.ports.meter.record(&[metric.once()], self.ports.journal.clock.now());
    }

    pub(crate) fn required(&self, why: &str) -> Reply {
        reply::payment_required(&self.settings.terms, self.offer, why)
    }

    /// A payment that was shown before: recorded a hundred times, answered always.
    async fn repeated(&self, found: Versioned<Purchase>, reply: Reply, why: &str) -> Result<Reply, CommitError> {
        self.note(found, TollStatus::Replay, why).await?;
        Ok(reply)
    }

    async fn not_taken(&self, status: TollStatus, why: &str) {
        let Ports { rejections, .. } = self.ports;
        rejected::record(rejections, self.offer, &self.query, (status, why), self.asked_at).await;
    }

    /// Records how this request ended, where its payment does not leave too many records. A payment that nobody verified
    /// leaves no purchase.
    async fn note(&self, purchase: Versioned<Purchase>, status: TollStatus, why: &str) -> Result<(), CommitError> {
        if purchase.version == 0 {
            self.not_taken(status, why).await;
            return Ok(());
        }
        let details = json!({ "authority": self.evaluation.envelope() });
        let note = |purchase: &mut Purchase, now: Timestamp| {
            let record = Record::toll(now, self.asked_at, status, why).with_details(details.clone());
            Change::recorded(if purchase.repeat() { vec![record] } else { Vec::new() }, ())
        };
        self.ports.journal.commit(purchase, note).await?.settle().await;
        Ok(())
    }

    /// A transaction that is shown for the first time: nothing is kept of one that did not pay us.
    async fn begin_transfer(
        &self,
        transaction: &str,
        fresh: impl Fn(&str) -> Versioned<Purchase>,
    ) -> Result<Reply, CommitError> {
        match self.ports.node.transfer(transaction, self.price.amount).await {
            Ok(Transfer::Paid { payer }) => self.begin(fresh(&payer), None).await,
            Ok(Transfer::Unconfirmed(why)) => Ok(reply::unconfirmed(&why)),
            Ok(Transfer::Refused(why)) => {
                self.not_taken(TollStatus::PaymentRejected, &why).await;
                Ok(self.required(&why))
            }
            Err(error) => {
                tracing::error!(error = telemetry::chain(&error), "the node cannot be asked");
                self.count(Metric::TollUnreachable);
                Ok(reply::unreachable())
            }
        }
    }

    /// A purchase without an answer, new or not: gate, verification, claim, answer, settlement.
    async fn begin(&self, purchase: Versioned<Purchase>, name: Option<Name>) -> Result<Reply, CommitError> {
        let now = self.ports.journal.clock.now();
        if let Err(error) = self.means.is_timely(&self.price, now) {
            return self.refused(purchase, TollStatus::PaymentRejected, &error.to_string()).await;
        }
        if purchase.value.signed().is_none() && now >= purchase.value.lapses_at() {
            return Ok(reply::owed());
        }
        if let Some(body) = Refusal::of(&self.evaluation) {
            let why = format!("authority gate: {} {}", self.evaluation.state(), self.evaluation.reason_code());
            self.note(purchase, TollStatus::RagFail, &why).await?;
            return Ok(Reply::json(reply::DECLINED, &json!(body)));
        }
        if let Some(signed) = purchase.value.signed() {
            match self.ports.facilitator.verify(signed).await {
                Ok(()) => {}
                Err(error @ FacilitatorError::Refused(_)) => {
                    return self.refused(purchase, TollStatus::PaymentRejected, &error.to_string()).await;
                }
                Err(error @ (FacilitatorError::Pending | FacilitatorError::Unavailable(_))) => {
                    tracing::error!(error = telemetry::chain(&error), "the facilitator cannot be asked");
                    self.count(Metric::TollUnreachable);
                    self.note(purchase, TollStatus::RpcUnreachable, &error.to_string()).await?;
                    return Ok(reply::unreachable());
                }
            }
        }
        let fingerprint = self.fingerprint();
        if let Some(name) = name {
            let (store, id) = (self.ports.journal.store, purchase.value.id().clone());
            if !name.take(store, fingerprint.clone(), id, now).await? {
                return Ok(reply::in_progress());
            }
        }
        let owner = self.ports.randomness.token();
        let claim = |purchase: &mut Purchase, now: Timestamp| {
            if !purchase.is_for(&fingerprint) {
                return Change::nothing(Begun::Other);
            }
            match purchase.claim(&owner, now, self.settings.lease) {
                Claimed::Granted => Change::save(Begun::Granted),
                Claimed::Busy => Change::nothing(Begun::Busy),
                Claimed::Ended => Change::nothing(Begun::Ended),
            }
        };
        let (purchase, begun) = self.ports.journal.commit(purchase, claim).await?.unsettled();
        match begun {
            Begun::Granted => self.answer(purchase, &owner).await,
            Begun::Other => Ok(reply::other_payload()),
            // Somebody made the answer in between: the next request finds it.
            Begun::Busy | Begun::Ended => Ok(reply::in_progress()),
        }
    }

    async fn refused(
        &self,
        purchase: Versioned<Purchase>,
        status: TollStatus,
        why: &str,
    ) -> Result<Reply, CommitError> {
        self.note(purchase, status, why).await?;
        Ok(self.required(why))
    }
}

//! Sells one answer for a signed payment or a transaction.

use crate::{
    Ports, Settings,
    named_purchase::{FreeName, NamedPurchase, find_named_purchase},
    payment_means::{CheckedMeans, Unusable, unnamed},
    rejection_records, reply,
};
use audit::{Change, CommitError, Record, TollStatus, hash};
use authority::{Evaluation, Refusal};
use chain::payment::Price;
use domain::{
    Metric, Query, SessionId, Timestamp,
    ports::Versioned,
    toll::{Claimed, Offer, Purchase, Stage},
};
use runtime::{http::Reply, telemetry};
use serde_json::json;

/// One request with a payment.
pub(crate) struct PaidRequest<'a> {
    pub(crate) ports: Ports<'a>,
    pub(crate) settings: &'a Settings,
    pub(crate) offer: Offer,
    pub(crate) price: Price,
    pub(crate) query: Query,
    pub(crate) evaluation: Evaluation,
    pub(crate) means: CheckedMeans,
    pub(crate) asked_at: Timestamp,
    /// The client's network.
    pub(crate) network: Option<String>,
}

const OTHER_REQUEST: &str = "the payment was used for another request";

/// What the payer of a lapsed purchase reads.
pub(crate) const fn lapsed(untraced: bool) -> &'static str {
    if untraced {
        "the payment's time is over, and the chain does not show where it went"
    } else {
        "the payment's time is over, and it was never settled"
    }
}

/// The reply to a request with a payment while our own store fails.
pub(crate) async fn not_now(ports: Ports<'_>, offer: Offer, evaluation: &Evaluation, error: &CommitError) -> Reply {
    tracing::error!(error = telemetry::chain(error), "a payment could not be worked on");
    rejection_records::declined(ports, offer, evaluation).await;
    reply::declined(reply::not_now(), evaluation)
}

/// The outcome of a claim.
enum Begun {
    Granted,
    Busy,
    Ended,
    Other,
}

impl PaidRequest<'_> {
    /// Sells the answer, or replies with the reason why not.
    pub(crate) async fn sell(&self) -> Reply {
        match self.try_sell().await {
            Ok(reply) => reply::declined(reply, &self.evaluation),
            Err(error) => not_now(self.ports, self.offer, &self.evaluation, &error).await,
        }
    }

    /// The digest of the offer and the question, which shows whether two requests are the same.
    fn fingerprint(&self) -> String {
        hash::sha256(format!("{}\n{}", self.offer.path(), self.query.as_str()).as_bytes())
    }

    async fn try_sell(&self) -> Result<Reply, CommitError> {
        let id = self.means.purchase(&self.price).map_err(unnamed)?;
        let journal = self.ports.journal;
        let (fingerprint, now) = (self.fingerprint(), journal.clock.now());
        let named = find_named_purchase(journal.store, &self.means, &self.price, &id, &fingerprint, now).await?;
        let (found, name) = match named {
            NamedPurchase::Own(name) => (journal.store.load(&id).await?, name),
            NamedPurchase::Earlier(earlier) => (Some(*earlier), None),
            NamedPurchase::Other => {
                self.not_taken(TollStatus::Replay, "the payment identifier was used for another request").await;
                return Ok(reply::other_request());
            }
            NamedPurchase::Unwritten | NamedPurchase::Expiring => return Ok(reply::in_progress()),
        };
        let Some(found) = found else {
            if self.settings.terms.pay_to.is_none() {
                return Ok(reply::closed());
            }
            let fresh = |id: &SessionId, payer: &str| {
                let resource = reply::resource(&self.settings.terms, self.offer);
                let paid = self.means.paid(&self.price, self.offer, &resource, payer);
                let (fingerprint, hash) = (fingerprint.clone(), hash::query_hash(&self.query));
                let value = Purchase::new(id.clone(), self.offer, fingerprint, hash, paid, self.asked_at);
                Versioned { value, version: 0 }
            };
            return match &self.means {
                CheckedMeans::Signed(..) => self.begin(fresh(&id, ""), name).await,
                CheckedMeans::Transfer(transaction) => self.begin_transfer(transaction, &id, fresh).await,
            };
        };
        let found = journal.flush(found).await;
        // Each of several payers may ask its own question. If the transaction is owed, none of them gets an answer.
        if found.value.signed().is_none() && matches!(found.value.stage(), Stage::Owed { .. }) {
            return Ok(self.owed(found).await);
        }
        if !found.value.is_for(&fingerprint) {
            return Ok(self.repeated(found, reply::other_payload(), OTHER_REQUEST).await);
        }
        match found.value.stage() {
            Stage::Settled { answer, .. } => {
                let reply = reply::answer(&found.value, answer, self.means.version());
                Ok(self.repeated(found, reply, "Transaction already used (replay attempt).").await)
            }
            Stage::Settling { .. } => self.settle_again(found).await,
            Stage::Working { .. } | Stage::Unanswered => self.begin(found, name).await,
            Stage::Lapsed { untraced: true, resolved: false, .. } => {
                self.try_record_refusal(found, TollStatus::RpcUnreachable, lapsed(true)).await;
                Ok(reply::untraced())
            }
            // Also an untraced payment that a human has dealt with.
            Stage::Lapsed { untraced, .. } => {
                let why = lapsed(*untraced);
                self.refused(found, why).await
            }
            Stage::Owed { .. } => Ok(self.owed(found).await),
        }
    }

    /// Counts a metric that an alarm watches.
    pub(crate) fn count(&self, metric: Metric) {
        self.ports.meter.record(&[metric.once()], self.ports.journal.clock.now());
    }

    pub(crate) fn required(&self, why: &str) -> Reply {
        reply::payment_required(&self.settings.terms, self.offer, why)
    }

    /// Records that the payment was used again, and returns the reply. Only the first hundred repetitions are recorded,
    /// but all are answered.
    async fn repeated(&self, found: Versioned<Purchase>, reply: Reply, why: &str) -> Reply {
        self.try_record_refusal(found, TollStatus::Replay, why).await;
        reply
    }

    /// Replies that the money arrived and its answer can no longer be made.
    pub(crate) async fn owed(&self, found: Versioned<Purchase>) -> Reply {
        let why = "the payment arrived and can buy no answer any more";
        self.try_record_refusal(found, TollStatus::PaymentRejected, why).await;
        reply::owed()
    }

    /// Replies that this payment buys no answer, because too many attempts at it failed. If its money has reached us
    /// nevertheless, the schedule finds it.
    async fn exhausted(&self, found: Versioned<Purchase>) -> Reply {
        if found.value.signed().is_none() {
            return self.owed(found).await;
        }
        self.try_record_refusal(found, TollStatus::RagFail, "too many attempts at the answer failed").await;
        reply::exhausted()
    }

    /// Records an outcome that is stored already. A record that fails is counted, and withholds nothing that was paid
    /// (Audit Trail, failure mode 1).
    async fn try_record_refusal(&self, found: Versioned<Purchase>, status: TollStatus, why: &str) {
        if let Err(error) = self.record_refusal(found, status, why).await {
            self.count(Metric::AuditWriteFailed);
            tracing::error!(error = telemetry::chain(&error), "a request that changed nothing is not recorded");
        }
    }

    /// Records the evaluation of a question that the gate declines, where no record of a purchase has it.
    pub(crate) async fn record_declined(&self) {
        rejection_records::declined(self.ports, self.offer, &self.evaluation).await;
    }

    /// Records a payment that is not taken, and leaves no purchase.
    pub(crate) async fn not_taken(&self, status: TollStatus, why: &str) {
        self.record_declined().await;
        let query = self.evaluation.state().is_sold().then_some(&self.query);
        let transaction = self.means.transaction();
        rejection_records::record(self.ports, self.offer, query, transaction, (status, why), self.asked_at).await;
    }

    /// Records the outcome of this request, unless its payment already has too many records. A signed payment that was
    /// never verified has no purchase and is recorded in the function's stream. A transfer is money that we have: it is
    /// stored with its first record, so that the schedule finds it if it buys nothing.
    async fn record_refusal(
        &self,
        purchase: Versioned<Purchase>,
        status: TollStatus,
        why: &str,
    ) -> Result<(), CommitError> {
        if purchase.version == 0 && purchase.value.signed().is_some() {
            self.not_taken(status, why).await;
            return Ok(());
        }
        let details = json!({ "authority": self.evaluation.envelope() });
        let record = |purchase: &mut Purchase, now: Timestamp| {
            let record = Record::toll(now, self.asked_at, status, why).with_details(details.clone());
            Change::recorded(if purchase.repeat() { vec![record] } else { Vec::new() }, ())
        };
        self.ports.journal.commit(purchase, record).await?.settle().await;
        Ok(())
    }

    /// Continues a new or an existing purchase without an answer: gate, verification, claim, answer, settlement.
    pub(crate) async fn begin(
        &self,
        purchase: Versioned<Purchase>,
        name: Option<FreeName>,
    ) -> Result<Reply, CommitError> {
        let now = self.ports.journal.clock.now();
        if purchase.value.signed().is_none() && now >= purchase.value.lapses_at() {
            return Ok(self.owed(purchase).await);
        }
        if let Some(body) = Refusal::of(&self.evaluation) {
            let why = format!("authority gate: {} {}", self.evaluation.state(), self.evaluation.reason_code());
            self.record_refusal(purchase, TollStatus::RagFail, &why).await?;
            return Ok(Reply::json(reply::DECLINED, &json!(body)));
        }
        if purchase.value.is_exhausted() {
            return Ok(self.exhausted(purchase).await);
        }
        if let Some(signed) = purchase.value.signed() {
            let verified = match self.verified(purchase.version == 0, signed, now).await {
                Ok(verified) => verified,
                Err(reply) => return Ok(reply),
            };
            match verified {
                Ok(()) => {}
                Err(Unusable::Refused(why)) => return self.refused(purchase, &why).await,
                Err(Unusable::Unknown(why)) => {
                    self.count(Metric::TollUnreachable);
                    self.record_refusal(purchase, TollStatus::RpcUnreachable, &why).await?;
                    return Ok(reply::unreachable());
                }
            }
        }
        if let Some(name) = name {
            let (store, id) = (self.ports.journal.store, purchase.value.id().clone());
            if !name.take(store, self.fingerprint(), id, now).await? {
                return Ok(reply::in_progress());
            }
        }
        let owner = self.ports.randomness.token();
        let (purchase, begun) = self.ports.journal.commit(purchase, self.claim(&owner)).await?.unsettled();
        match begun {
            Begun::Granted => self.answer(purchase, &owner).await,
            Begun::Other => Ok(self.repeated(purchase, reply::other_payload(), OTHER_REQUEST).await),
            // Another request is making the answer or has made it: the next request finds it.
            Begun::Busy | Begun::Ended => Ok(reply::in_progress()),
        }
    }

    /// Claims a purchase of this question. The claim has the gate's evaluation, so that a record of it follows although the
    /// process ends (Authority Governance, RFC-0008).
    fn claim(&self, owner: &str) -> impl Fn(&mut Purchase, Timestamp) -> Change<Begun> {
        let (fingerprint, evaluation) = (self.fingerprint(), json!(self.evaluation.envelope()));
        move |purchase, now| {
            if !purchase.is_for(&fingerprint) {
                return Change::nothing(Begun::Other);
            }
            // That of an earlier claim, whose process has ended if this one is granted.
            let interrupted = match purchase.stage() {
                Stage::Working { owner: other, evaluation, .. } if other != owner => evaluation.clone(),
                _ => None,
            };
            match purchase.claim(owner, now, self.settings.lease, evaluation.clone()) {
                Claimed::Granted => {
                    let interrupted = interrupted.map(|interrupted| {
                        let record = Record::toll(now, self.asked_at, TollStatus::RagFail, "its process ended");
                        record.with_details(json!({ "authority": interrupted }))
                    });
                    Change::recorded(interrupted.into_iter().collect(), Begun::Granted)
                }
                Claimed::Busy => Change::nothing(Begun::Busy),
                Claimed::Ended => Change::nothing(Begun::Ended),
            }
        }
    }

    async fn refused(&self, purchase: Versioned<Purchase>, why: &str) -> Result<Reply, CommitError> {
        self.record_refusal(purchase, TollStatus::PaymentRejected, why).await?;
        Ok(self.required(why))
    }
}

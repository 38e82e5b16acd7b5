//! Fulfils a claimed purchase: makes and stores the answer, and settles its payment.

use crate::{
    Ports,
    answer::NoAnswer,
    reply,
    sell::{PaidRequest, lapsed},
};
use audit::{Change, CommitError, Record, TollStatus};
use domain::{
    Metric, Timestamp,
    ports::Versioned,
    toll::{Purchase, Stage},
};
use runtime::{http::Reply, telemetry};
use serde_json::json;

impl PaidRequest<'_> {
    /// Makes the answer of a claimed purchase, stores it, and settles the payment.
    pub(crate) async fn answer(&self, purchase: Versioned<Purchase>, owner: &str) -> Result<Reply, CommitError> {
        let journal = self.ports.journal;
        let id = purchase.value.id().clone();
        let made = self.make_answer(&id).await;
        let answer = match made.answer {
            Ok(answer) => answer,
            Err(NoAnswer { why, has_reply }) => {
                tracing::warn!(purchase = id.reference(), why, "no answer could be made");
                self.count(Metric::TollUnanswered);
                let details = json!({ "authority": self.evaluation.envelope() });
                let give_up = |purchase: &mut Purchase, now: Timestamp| {
                    if purchase.give_up(owner, has_reply).is_err() {
                        return Change::nothing(());
                    }
                    let mut records = made.records.clone();
                    let record = Record::toll(now, self.asked_at, TollStatus::RagFail, &why);
                    records.push(record.with_details(details.clone()));
                    Change::recorded(if purchase.repeat() { records } else { Vec::new() }, ())
                };
                journal.commit(purchase, give_up).await?.settle().await;
                return Ok(reply::no_answer());
            }
        };
        let is_direct = purchase.value.signed().is_none();
        let keep = |purchase: &mut Purchase, now: Timestamp| {
            if purchase.answer(owner, answer.clone(), now).is_err() {
                return Change::nothing(false);
            }
            let mut records = made.records.clone();
            if is_direct {
                let facts = json!({ "confirmed": true, "made": answer.facts });
                records.push(Record::toll(now, self.asked_at, TollStatus::Ok, "").with_details(facts));
            }
            Change::recorded(records, true)
        };
        // A transfer is settled already: no commit of a settlement follows.
        let is_settling =
            |purchase: &Purchase, kept: &bool| *kept && matches!(purchase.stage(), Stage::Settling { .. });
        let (purchase, kept) = journal.commit(purchase, keep).await?.settle_unless(is_settling).await;
        if kept { self.settle(purchase).await } else { Ok(reply::in_progress()) }
    }

    /// Settles the payment of a stored answer. The answer is delivered only if the settlement succeeds.
    async fn settle(&self, purchase: Versioned<Purchase>) -> Result<Reply, CommitError> {
        let Ports { journal, facilitator, node, .. } = self.ports;
        let ports = settlement::Ports { journal, facilitator, node };
        match settlement::settle(ports, purchase, self.asked_at).await {
            Ok(purchase) => Ok(self.conclude(&journal.flush(purchase).await.value)),
            Err(error) => {
                tracing::error!(error = telemetry::chain(&error), "the outcome of a settlement could not be saved");
                Ok(reply::settlement_pending())
            }
        }
    }

    /// Retries the settlement of a stored answer until the payment expires.
    pub(crate) async fn settle_again(&self, purchase: Versioned<Purchase>) -> Result<Reply, CommitError> {
        let now = self.ports.journal.clock.now();
        if purchase.value.signed().is_none_or(|signed| now >= signed.valid_before) {
            return Ok(reply::settlement_pending());
        }
        let count = |purchase: &mut Purchase, now: Timestamp| Change::saved(purchase.settle_again(now));
        let (purchase, ()) = self.ports.journal.commit(purchase, count).await?.unsettled();
        self.settle(purchase).await
    }

    fn conclude(&self, purchase: &Purchase) -> Reply {
        match purchase.stage() {
            Stage::Settled { answer, .. } => reply::answer(purchase, answer, self.means.version()),
            Stage::Settling { problem: Some(problem), .. } if problem.is_refusal => self.required(&problem.why),
            Stage::Settling { .. } => reply::settlement_pending(),
            Stage::Unanswered | Stage::Working { .. } => reply::in_progress(),
            Stage::Lapsed { untraced: true, resolved: false, .. } => reply::untraced(),
            Stage::Lapsed { untraced, .. } => self.required(lapsed(*untraced)),
            Stage::Owed { .. } => reply::owed(),
        }
    }
}

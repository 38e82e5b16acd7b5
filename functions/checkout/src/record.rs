//! The audit record of an evaluation before there is a sale: its outcome and the rules that decided, without the
//! question's text. A question that is not sold leaves no other trace.

use audit::{AuditKeys, FunctionJournal};
use authority::Evaluation;
use domain::{
    Query, StepError,
    ports::{Meter, Randomness, SecretSource},
};
use runtime::telemetry;
use serde_json::{Value, json};

pub use domain::notebooks::CHECKOUT as STREAMS;

/// Where evaluations are recorded.
#[derive(Clone, Copy)]
pub struct Records<'a> {
    /// A journal of any stream; chance chooses the stream of each record, because a choice by the question would send a
    /// burst of equal questions to one item.
    pub journal: FunctionJournal<'a>,
    /// The keys for the tags that identify questions.
    pub audit_keys: &'a dyn SecretSource,
    /// Chooses the streams.
    pub randomness: &'a dyn Randomness,
    /// Counts evaluations that could not be recorded.
    pub meter: &'a dyn Meter,
}

impl Records<'_> {
    /// Records an evaluation that was requested at `path`. The reply to the customer does not depend on it: a question
    /// that must not be answered is declined either way, and one that is sold is recorded again with its sale.
    /// Operators are alerted to an escalated one whose save fails.
    pub(crate) async fn keep(&self, path: &str, query: &Query, evaluation: &Evaluation) {
        if let Err(error) = self.try_keep(path, query, evaluation).await {
            tracing::error!(error = telemetry::chain(&error), "an evaluation is not recorded");
            let FunctionJournal { alerts, clock, .. } = self.journal;
            audit::report_unrecorded(alerts, self.meter, &evaluation.envelope(), "checkout", clock.now()).await;
        }
    }

    async fn try_keep(&self, path: &str, query: &Query, evaluation: &Evaluation) -> Result<(), StepError> {
        let tag = AuditKeys::current_of(self.audit_keys).await?.question_tag(query);
        let facts = facts(path, &tag, evaluation);
        let token = self.randomness.token();
        Ok(self.journal.record_in_one_of(&STREAMS, &token, "authority_evaluated", |_| facts.clone()).await?)
    }
}

fn facts(path: &str, tag: &str, evaluation: &Evaluation) -> Value {
    json!({ "endpoint": path, "question_tag": tag, "authority": evaluation.envelope() })
}

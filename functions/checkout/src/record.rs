//! The audit record of an evaluation before there is a sale: its outcome and the rules that decided, without the
//! question's text. A question that is not sold leaves no other trace.

use audit::{AuditKeys, FunctionJournal, Noted};
use authority::Evaluation;
use domain::{
    ErrorCode, Metric, Query, StepError,
    ports::{Meter, SecretSource},
};
use runtime::telemetry;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The streams of evaluations. There are several, so that concurrent customers seldom write to the same item.
pub const STREAMS: [&str; 4] = ["checkout-1", "checkout-2", "checkout-3", "checkout-4"];

/// Where evaluations are recorded.
#[derive(Clone, Copy)]
pub struct Records<'a> {
    /// A journal of any stream; each record goes to the stream of its question.
    pub journal: FunctionJournal<'a>,
    /// The keys for the tags that identify questions.
    pub audit_keys: &'a dyn SecretSource,
    /// Counts evaluations that could not be recorded.
    pub meter: &'a dyn Meter,
}

/// The note has no state of its own; it only holds records that wait for the log.
#[derive(Default, Serialize, Deserialize)]
struct Nothing {}

impl Records<'_> {
    /// Records an evaluation that was requested at `path`. The reply to the customer does not depend on it: a question
    /// that must not be answered is declined either way, and one that is sold is recorded again with its sale.
    pub(crate) async fn keep(&self, path: &str, query: &Query, evaluation: &Evaluation) {
        if let Err(error) = self.try_keep(path, query, evaluation).await {
            self.meter.record(&[Metric::AuditWriteFailed.once()], self.journal.clock.now());
            tracing::error!(error = telemetry::chain(&error), "an evaluation is not recorded");
        }
    }

    async fn try_keep(&self, path: &str, query: &Query, evaluation: &Evaluation) -> Result<(), StepError> {
        let document = self.audit_keys.document().await?;
        let key = AuditKeys::parse(&document).and_then(|keys| keys.current());
        let tag = key.map_err(|error| ErrorCode::Malformed.of(error))?.question_tag(query);
        let facts = facts(path, &tag, evaluation);
        let journal = FunctionJournal { function: stream(&tag), ..self.journal };
        let notebook = journal.load::<Nothing>().await?;
        let record = |_: &mut Nothing, _| Noted::save(()).recording("authority_evaluated", facts.clone());
        journal.commit(notebook, record).await?.settle().await;
        Ok(())
    }
}

fn facts(path: &str, tag: &str, evaluation: &Evaluation) -> Value {
    json!({ "endpoint": path, "question_tag": tag, "authority": evaluation.envelope() })
}

/// The stream of a question; equal questions have the same stream.
fn stream(tag: &str) -> &'static str {
    let last = tag.bytes().last().map_or(0, usize::from);
    STREAMS[last % STREAMS.len()]
}

//! Runs the content filter at one of its two gates, with the audit record and, when the payload is held, the
//! quarantine's document (content filter, invariants 2 and 4).
//!
//! Gate 1 is before the cache, gate 2 before the mail and before the page. Each alone is sufficient.

pub use domain::Gate;

use audit::{Body, Change, Context, Record};
use domain::{Alert, CachedVerdict, Metric, Sale, SessionId, Tier, Timestamp, sale::HeldBy};
use filter::{CheckedPayload, Filter, Outcome};
use serde_json::{Value, json};

/// The result of a run. It has no state of any other run (content filter, invariant 7).
#[derive(Clone, Debug)]
pub struct Run {
    gate: Gate,
    checked: CheckedPayload,
}

/// Runs the filter over the texts of one payload.
#[must_use]
pub fn run<'a>(gate: Gate, texts: impl IntoIterator<Item = &'a str>) -> Run {
    Run { gate, checked: Filter::embedded().check_payload(texts) }
}

/// Whether a text may be shown unchanged. The customer's own words are echoed only if so; they are never changed.
#[must_use]
pub fn may_echo(text: &str) -> bool {
    Filter::embedded().check(text).outcome == Outcome::Pass
}

/// The line that replaces a question that is not echoed.
#[must_use]
pub fn withheld_line(session: &SessionId) -> String {
    format!("Your submission is on file under reference {}.", session.reference())
}

/// The version of the block list.
#[must_use]
pub fn list_version() -> &'static str {
    Filter::embedded().list_version()
}

impl Run {
    /// The gate that ran.
    #[must_use]
    pub const fn gate(&self) -> Gate {
        self.gate
    }

    /// PASS, REPLACE or QUARANTINE.
    #[must_use]
    pub const fn outcome(&self) -> Outcome {
        self.checked.outcome
    }

    /// Whether the payload is held.
    #[must_use]
    pub const fn is_held(&self) -> bool {
        matches!(self.checked.outcome, Outcome::Quarantine)
    }

    /// The texts to deliver, in the order given; `None` when the payload is held.
    #[must_use]
    pub fn delivered(&self) -> Option<Vec<String>> {
        (!self.is_held()).then(|| self.checked.fields.iter().map(|field| field.text.clone()).collect())
    }

    /// The texts to deliver, if they keep a rule about what customers read, such as the authority gate's grammar: `check`
    /// gets them as one text. A payload that is held is not delivered, so it breaks no rule.
    ///
    /// # Errors
    /// As `check`.
    pub fn checked<E>(&self, check: impl FnOnce(&str) -> Result<(), E>) -> Result<Option<Vec<String>>, E> {
        let Some(texts) = self.delivered() else { return Ok(None) };
        check(&texts.join("\n")).map(|()| Some(texts))
    }

    /// The number of blocked terms.
    #[must_use]
    pub fn term_count(&self) -> usize {
        self.checked.hits().count()
    }

    /// The blocked terms, as the list names them.
    #[must_use]
    pub fn terms(&self) -> Vec<String> {
        self.checked.hits().map(|(_, hit)| hit.term.clone()).collect()
    }

    /// Holds a sale whose raw payload is in the quarantine under `context.now`: a hold without it could not be resolved
    /// (content filter GAP-L, fail closed), and operators look it up by the time of the hold, so that this is not the
    /// commit's. Nothing changes if the sale refuses the hold.
    pub fn hold(&self, sale: &mut Sale, held_by: HeldBy<'_>, context: &Context) -> Change<()> {
        let Ok(event) = sale.hold(held_by, context.now) else { return Change::nothing(()) };
        let alert = Alert::quarantine(context.now, self.gate, sale.session_id(), self.term_count());
        Change::of(&event, context, ()).alerting(alert)
    }

    /// The audit record: terms and offsets, no text. A payload that is held is counted.
    #[must_use]
    pub fn record(&self, now: Timestamp, triggered_at: Timestamp) -> Record {
        self.record_shown(now, triggered_at).measuring(self.is_held().then(|| Metric::Held.once()))
    }

    /// The same for a payload that its customer has and keeps, whatever this run says: nothing counts as held
    /// (infra/decisions/second-look.md).
    #[must_use]
    pub fn record_shown(&self, now: Timestamp, triggered_at: Timestamp) -> Record {
        let filter = Filter::embedded();
        let hits: Vec<Value> = self.checked.hits().map(|(field, hit)| json!({ "field": field, "hit": hit })).collect();
        let body = Body::ContentFilter {
            gate: self.gate.number(),
            outcome: self.checked.outcome.as_str().to_owned(),
            list_version: filter.list_version().to_owned(),
            list_hash: filter.list_hash().to_owned(),
            hits: hits.into(),
        };
        Record::new(now, triggered_at, body)
    }

    /// The document for the quarantine: the raw payload with the facts that a reviewer needs, without an address.
    #[must_use]
    pub fn held_payload(&self, session: &SessionId, tier: Option<Tier>, now: Timestamp, payload: &Value) -> String {
        let terms: Vec<&str> = self.checked.hits().map(|(_, hit)| hit.term.as_str()).collect();
        json!({
            "session_id": session,
            "tier": tier,
            "held_at": now.to_iso(),
            "gate": self.gate.number(),
            "terms": terms,
            "list_version": Filter::embedded().list_version(),
            "payload": payload,
        })
        .to_string()
    }
}

/// Runs gate 2 for the page: on all texts of a cached verdict that customers read.
#[must_use]
pub fn before_page(cached: &CachedVerdict) -> Run {
    run(Gate::BeforeDelivery, cached.verdict.texts().into_iter().chain(cached.notice.as_deref()))
}

/// Runs gate 2 for a mail, line by line: the meaning of a line does not depend on the next one, so that a verdict's
/// sentences are checked in the mail as on the page. Terms that are split over lines are still found.
#[must_use]
pub fn before_mail(subject: &str, body: &str) -> Run {
    run(Gate::BeforeDelivery, std::iter::once(subject).chain(body.split('\n')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session() -> SessionId {
        SessionId::parse("cs_test_a1B2c3D4e5F6").unwrap()
    }

    #[test]
    fn a_held_payload_delivers_nothing_and_says_why() {
        let run = run(Gate::BeforeCache, ["All good.", "The CSDM says so."]);
        assert_eq!((run.outcome(), run.terms()), (Outcome::Quarantine, vec!["CSDM".to_owned()]));
        let now = Timestamp::from_seconds(0);
        let held: Value =
            serde_json::from_str(&run.held_payload(&session(), Some(Tier::Full), now, &json!("raw"))).unwrap();
        assert_eq!((&held["terms"], &held["gate"], &held["payload"]), (&json!(["CSDM"]), &json!(1), &json!("raw")));
        let record = run.record(now, now);
        assert_eq!(record.measurements(), [Metric::Held.once()]);
        let shown = run.record_shown(now, now);
        assert_eq!((shown.measurements(), &shown.body), (Vec::new(), &record.body));
        let passed = super::run(Gate::BeforeCache, ["All good."]);
        assert_eq!(passed.record(now, now).measurements(), []);
        let Body::ContentFilter { outcome, hits, .. } = record.body else { panic!("a filter record") };
        assert_eq!((outcome.as_str(), hits[0]["field"].as_u64()), ("QUARANTINE", Some(1)));
        assert!(!hits.to_string().contains("says so"), "no text in the record");
        assert!(run.is_held() && run.delivered().is_none());
    }

    /// Issue 5: list version and hash, term id, span, view, rule, outcome.
    #[test]
    fn every_hit_in_the_record_says_what_where_how_and_what_became_of_it() {
        let texts = ["Ask M\u{200b}NEMOS.", "N0US and TMM.", "Says CS", "DM &#84;RNG."];
        let run = run(Gate::BeforeDelivery, texts);
        let now = Timestamp::from_seconds(0);
        let Body::ContentFilter { gate, outcome, list_version, list_hash, hits } = run.record(now, now).body else {
            panic!("a filter record")
        };
        assert_eq!((gate, outcome.as_str()), (2, "QUARANTINE"));
        assert_eq!((list_version.as_str(), list_hash.len()), (Filter::embedded().list_version(), 64));
        assert_eq!(list_version, super::list_version());
        let expected = [
            (0, "mnemos", "folded", "category-2", "replace", 4, 13),
            (1, "nous", "leet", "category-2", "quarantine", 0, 4),
            (1, "tmm", "word", "category-3", "replace", 9, 12),
            (2, "csdm", "joined", "category-3", "quarantine", 5, 7),
            (3, "trng", "decoded", "category-3", "quarantine", 3, 11),
        ];
        let hits = hits.as_array().unwrap();
        assert_eq!(hits.len(), expected.len(), "{hits:?}");
        for (line, (field, id, view, rule, action, start, end)) in hits.iter().zip(expected) {
            let hit = &line["hit"];
            assert_eq!(line["field"], field);
            assert_eq!((&hit["id"], &hit["view"], &hit["rule"]), (&json!(id), &json!(view), &json!(rule)), "{line}");
            assert_eq!(
                (&hit["action"], &hit["start"], &hit["end"]),
                (&json!(action), &json!(start), &json!(end)),
                "{line}"
            );
            assert!(hit["term"].is_string() && hit["category"].is_u64());
        }
    }

    #[test]
    fn a_replaced_payload_is_delivered_with_its_substitutes() {
        let run = run(Gate::BeforeDelivery, ["TMM likes it.", "So do we."]);
        assert_eq!(run.outcome(), Outcome::Replace);
        let texts = run.delivered().unwrap();
        assert!(!run.is_held() && !texts[0].contains("TMM") && texts[1] == "So do we.");
    }

    #[test]
    fn a_rule_about_an_answer_reads_what_is_delivered() {
        let refuse = |text: &str| Err::<(), _>(text.to_owned());
        let replaced = run(Gate::BeforeDelivery, ["TMM likes it.", "So do we."]);
        assert_eq!(replaced.checked(refuse), Err(replaced.delivered().unwrap().join("\n")));
        assert_eq!(replaced.checked(|_| Ok::<_, ()>(())), Ok(replaced.delivered()));
        assert_eq!(run(Gate::BeforeDelivery, ["The CSDM says so."]).checked(refuse), Ok(None));
    }

    #[test]
    fn the_line_for_a_withheld_question_is_clean_itself() {
        assert!(may_echo(&withheld_line(&session())));
        assert!(withheld_line(&session()).ends_with(" c3D4e5F6."));
        assert!(!may_echo("what does TMM mean"));
    }
}

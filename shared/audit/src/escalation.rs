//! Records that operators must see at once: evaluations of the authority gate with a trigger of child safety that
//! no role may override. They count a metric whose alarm alerts the operators, so every such text that is recorded is
//! escalated, whichever way it came in.

use domain::{
    Alert, Measurement, Metric, Timestamp,
    alert::Severity,
    ports::{Alerts, Meter},
};
use serde::Serialize;
use serde_json::{Value, json};

/// The evaluation in a record's details, if the record is escalated: no role may override it, and it names who has to
/// see it.
#[must_use]
pub fn escalated(details: &Value) -> Option<&Value> {
    let evaluation = &details["authority"];
    let names_somebody = evaluation["escalation"].as_array().is_some_and(|targets| !targets.is_empty());
    (evaluation["locked"] == true && names_somebody).then_some(evaluation)
}

/// The alert about a record with these details that the log may not get: it is left out, or its save failed, which may
/// have been the reply alone. `None` if the record is not escalated. Without the record nothing raises the alarm, and no
/// list shows the reason or who has to see it. `subject` names the record's stream, the function, the sale or the customer.
#[must_use]
pub(crate) fn alert_unrecorded(details: &Value, subject: &str, now: Timestamp) -> Option<Alert> {
    let evaluation = escalated(details)?;
    let reason = evaluation["reason_code"].as_str().unwrap_or("-");
    let targets: Vec<&str> = evaluation["escalation"].as_array()?.iter().filter_map(Value::as_str).collect();
    let targets = targets.join(", ");
    let detail =
        format!("a text with a trigger of child safety was evaluated ({reason}; {targets}); its record may be missing");
    Some(Alert::about("ORACLE-AUDIT", Severity::Critical, now, "AUTHORITY", subject, &detail))
}

/// Counts an evaluation whose record may not have been saved, and raises the alert about it, if it is escalated.
/// `subject` names the function, the sale or the customer.
pub async fn report_unrecorded(
    alerts: &dyn Alerts,
    meter: &dyn Meter,
    evaluation: &(impl Serialize + Sync),
    subject: &str,
    now: Timestamp,
) {
    meter.record(&[Metric::AuditWriteFailed.once()], now);
    if let Some(alert) = alert_unrecorded(&json!({ "authority": evaluation }), subject, now) {
        alerts.raise(alert).await;
    }
}

/// The measurement of a record with these details.
pub(crate) fn measurement(details: &Value) -> Option<Measurement> {
    escalated(details).map(|_| Metric::AuthorityEscalated.once())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Body, ChatStatus, Record, Source, Status, TollStatus};

    #[test]
    fn every_kind_of_record_with_a_trigger_of_child_safety_is_counted_once() {
        let now = Timestamp::from_seconds(0);
        let records = |details: &Value| {
            let pipeline = Record::pipeline(now, now, Source::Webhook, Status::Error, Some("authority gate"));
            let evaluated = Body::AuthorityEvaluated { details: details.clone() };
            [
                pipeline.with_details(details.clone()),
                Record::chat(now, now, ChatStatus::Declined, details.clone()),
                Record::toll(now, now, TollStatus::RagFail, "authority gate").with_details(details.clone()),
                Record::new(now, now, evaluated),
            ]
        };
        let counted = |record: &Record| {
            let all = record.measurements();
            all.iter().filter(|one| **one == Metric::AuthorityEscalated.once()).count()
        };
        let targets = json!(["NCMEC_CYBERTIPLINE"]);
        for (authority, expected) in [
            (json!({ "locked": true, "escalation": targets }), 1),
            (json!({ "locked": false, "escalation": ["security"] }), 0),
            (json!({ "locked": true }), 0),
        ] {
            for record in records(&json!({ "authority": authority })) {
                assert_eq!(counted(&record), expected, "{record:?}");
            }
        }
        assert_eq!(measurement(&json!({ "endpoint": "/query" })), None);
    }
}

//! Records operators' decisions that belong to no sale, such as a new secret or a discarded message. They are recorded
//! in a stream of their own, before they are carried out.

use crate::Operator;
use audit::{CommitError, FunctionJournal};
use serde_json::{Value, json};

pub use domain::notebooks::OPERATORS as STREAM;

/// Records that an operator performs `action`; the facts must contain no secret, no address and no customer text.
///
/// # Errors
/// [`CommitError`]: the action must not be performed.
pub async fn record(
    journal: FunctionJournal<'_>,
    operator: &Operator,
    action: &'static str,
    facts: &Value,
) -> Result<(), CommitError> {
    let details = json!({
        "action": action, "by": operator.name(), "identity": operator.identity(), "reason": operator.reason(),
        "facts": facts,
    });
    journal.record_required("operator", &details).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{IDENTITY, decisions, operator, whatever_breaks, world};
    use testkit::{World, run};

    fn go(world: &World) -> impl Future<Output = Result<(), CommitError>> {
        let journal = FunctionJournal { function: STREAM, notes: world, log: world, alerts: world, clock: world };
        async move { record(journal, &operator(), "secrets set", &json!({ "name": "stripe" })).await }
    }

    #[test]
    fn a_decision_names_who_what_and_why() {
        let world = world();
        run(go(&world)).unwrap().unwrap();
        run(go(&world)).unwrap().unwrap();
        let records = decisions(&world);
        assert_eq!(records.len(), 2);
        let details = &records[0]["details"];
        assert_eq!((&details["action"], &details["by"]), (&json!("secrets set"), &json!("dana")));
        assert_eq!((&details["facts"]["name"], &records[1]["seq"]), (&json!("stripe"), &json!(2)));
        assert_eq!(details["identity"], json!(IDENTITY));
    }

    #[test]
    fn whatever_breaks_a_repeated_command_is_on_record() {
        let check = |world: &World, what: &str| assert!(!decisions(world).is_empty(), "{what}");
        whatever_breaks(world, |world| run(go(world)), check);
    }
}

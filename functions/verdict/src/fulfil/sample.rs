//! Samples verdicts with replaced terms for operators to read.

use audit::hash;
use domain::{Alert, SessionId, Timestamp, alert::Severity};

/// The size of the sample: one verdict in this many.
const ONE_IN: u32 = 100;

/// Selects one in a hundred of the verdicts in which the filter replaced a term, by the hash of the session: an
/// operator reads it and decides whether the replacement was needed (content filter, failure mode 2).
pub(super) fn of(gate: &gates::Run, session: &SessionId, now: Timestamp) -> Option<Alert> {
    let [a, b, c, d, ..] = hash::sha256_raw(session.as_str().as_bytes());
    if gate.term_count() == 0 || !u32::from_be_bytes([a, b, c, d]).is_multiple_of(ONE_IN) {
        return None;
    }
    let detail = format!("sample: {} term(s) replaced; read the verdict: did they have to be?", gate.term_count());
    Some(Alert::event("ORACLE-FILTER", Severity::Warn, now, "REPLACED", session, &detail))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gates::Gate;

    fn sampled(text: &str) -> usize {
        let gate = gates::run(Gate::BeforeCache, [text]);
        let session = |number| SessionId::parse(format!("cs_test_{number:06}")).unwrap();
        (0..10_000).filter(|number| of(&gate, &session(*number), Timestamp::from_seconds(0)).is_some()).count()
    }

    #[test]
    fn one_in_a_hundred_with_a_replaced_term_is_read_and_none_without() {
        let some = sampled("MNEMOS shows demand.");
        assert!((70..=130).contains(&some), "{some} of 10,000");
        assert_eq!(sampled("The numbers show demand."), 0);
    }
}

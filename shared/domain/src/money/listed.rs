//! Disputes in Stripe's list, which shows their state at the time of reading.

use super::{history::PaymentHistory, report::PaymentReport};
use crate::Timestamp;

/// An event that Stripe created this long before the list was read, or later, counts as newer than the list: the clocks
/// differ, and events have whole seconds.
const READING_MS: i64 = 5 * 60 * 1000;

impl PaymentHistory {
    /// The report of Stripe's list, read at this time, with the time by which [`Self::record_report`] orders it. The list
    /// gives a dispute the time of its creation, so that every event counts as newer. If it shows another state of the
    /// stage that is known, the event of that change was lost, and only the time of reading is later than the known one.
    #[must_use]
    pub fn as_of_reading(&self, mut report: PaymentReport, read_at: Timestamp) -> PaymentReport {
        if let PaymentReport::Dispute { id, status, respond_by, at } = &mut report
            && let Some(known) = self.disputes().iter().find(|known| known.id == *id)
            && known.status.stage() == status.stage()
            && (known.status != *status || status.awaits_answer() && known.respond_by != *respond_by)
        {
            *at = Timestamp::from_millis(read_at.as_millis().saturating_sub(READING_MS)).max(*at);
        }
        report
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::money::{DisputeStatus, ObjectId, PaymentChange, ReportEffect};

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_seconds(seconds)
    }

    fn dispute(status: DisputeStatus, respond_by: i64, seconds: i64) -> PaymentReport {
        let id = ObjectId::parse("du_1").unwrap();
        PaymentReport::Dispute { id, status, respond_by: Some(at(respond_by)), at: at(seconds) }
    }

    #[test]
    fn a_change_within_a_stage_is_taken_from_the_list_if_its_event_was_lost() {
        use DisputeStatus::{Lost, NeedsResponse, UnderReview, Won};
        const DAY: i64 = 24 * 3600;
        let changed = |change| ReportEffect::Change(change);
        for (known, listed, expected) in [
            (dispute(NeedsResponse, 100, 10), dispute(NeedsResponse, 100, 5), ReportEffect::Nothing),
            (dispute(NeedsResponse, 100, 10), dispute(NeedsResponse, 200, 5), changed(PaymentChange::DeadlineChanged)),
            (dispute(Lost, 100, 10), dispute(Won, 100, 5), changed(PaymentChange::DisputeWon)),
            (dispute(NeedsResponse, 100, 10), dispute(UnderReview, 100, 5), changed(PaymentChange::DisputeAnswered)),
            // The event is newer than the list.
            (dispute(UnderReview, 100, 10), dispute(NeedsResponse, 200, 5), ReportEffect::Nothing),
            (dispute(Won, 100, DAY), dispute(Lost, 100, 5), ReportEffect::Nothing),
            // It awaits no answer any more.
            (dispute(Won, 100, 10), dispute(Won, 200, 5), ReportEffect::Nothing),
        ] {
            let mut history = PaymentHistory::new();
            history.record_report(&known, Some(500));
            let read = history.as_of_reading(listed.clone(), at(DAY));
            assert_eq!(history.record_report(&read, Some(500)), expected, "{known:?} {listed:?}");
            if expected == ReportEffect::Nothing {
                continue;
            }
            // The list of the next day, and a late event of the state before.
            let stored = history.clone();
            for later in [history.as_of_reading(listed, at(2 * DAY)), known] {
                assert_eq!(history.record_report(&later, Some(500)), ReportEffect::Nothing, "{later:?}");
                assert_eq!(history, stored);
            }
        }
    }

    #[test]
    fn other_reports_keep_their_time() {
        let history = PaymentHistory::new();
        let charge = PaymentReport::Charge { returned: 1, whole: false, at: at(5) };
        for report in [charge, dispute(DisputeStatus::NeedsResponse, 100, 5)] {
            assert_eq!(history.as_of_reading(report.clone(), at(1_000_000)), report);
        }
    }
}

//! Lists dead letters: mails that used up their retries or were refused for good.

use crate::list::{self, Ports};
use domain::{
    Sale, SessionId, Tier, Timestamp,
    mail::{Letter, Mail},
    open_work::Work,
    ports::StorageError,
};
use serde::Serialize;

/// A dead-lettered mail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DeadLetter {
    /// The sale.
    pub session_id: SessionId,
    /// The kind of mail.
    pub letter: Letter,
    /// When it became a dead letter, UTC.
    pub died_at: String,
    /// The same in milliseconds since the Unix epoch.
    pub died_at_ms: Timestamp,
    /// The number of failed attempts.
    pub attempts: usize,
    /// Their codes, oldest first.
    pub errors: Vec<String>,
    /// Whether a draft exists that another attempt would send.
    pub draft: bool,
    /// The tier, if known.
    pub tier: Option<Tier>,
}

/// A sale's dead-lettered mails that it still has to send.
#[must_use]
pub fn of(sale: &Sale) -> Vec<DeadLetter> {
    let dead = |letter| match sale.letter(letter) {
        Mail::Dead { at, progress } if sale.is_to_send(letter) => Some(DeadLetter {
            session_id: sale.session_id().clone(),
            letter,
            died_at: at.to_iso(),
            died_at_ms: *at,
            attempts: progress.failures.len(),
            errors: progress.failures.clone(),
            draft: progress.draft.is_some(),
            tier: sale.tier(),
        }),
        _ => None,
    };
    Letter::ALL.into_iter().filter_map(dead).collect()
}

/// The lists that a sale with a dead letter can be on.
const LISTS: [Work; 8] = [
    Work::DeadLetter,
    Work::InFlight,
    Work::Unusable,
    Work::Reply,
    Work::Declined,
    Work::Refund,
    Work::RefundFailed,
    Work::Dispute,
];

/// Every dead-lettered mail, oldest first. Also searches the lists of the work that precedes a dead letter, because a
/// sale with several kinds of work is on these lists first. It is in flight while its records or another mail wait. The
/// letter after a disclosure waits for no decision about the money.
///
/// # Errors
/// [`StorageError`].
pub async fn everything(ports: Ports<'_>, since: Option<Timestamp>) -> Result<Vec<DeadLetter>, StorageError> {
    let mut found = Vec::new();
    for work in LISTS {
        for sale in list::sales(ports, work, None).await? {
            found.extend(of(&sale));
        }
    }
    found.retain(|letter| since.is_none_or(|since| letter.died_at_ms >= since));
    found.sort_by(|a, b| (a.died_at_ms, &a.session_id, a.letter).cmp(&(b.died_at_ms, &b.session_id, b.letter)));
    found.dedup();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{at, dead, declined, ports, sale, world_of};
    use domain::{
        Alert,
        alert::Severity,
        money::Money,
        sale::{Fulfilment, HumanLock},
    };
    use testkit::{run, sale::WithField};

    /// The mail with sources of help is sent whatever becomes of the money.
    #[test]
    fn a_dead_letter_after_a_disclosure_is_found_while_its_refund_has_bounced() {
        let bounced = Money::RefundFailed { at: at(-2), refund: None };
        let crisis = declined(HumanLock::Never, true, -10);
        let world = world_of([
            crisis.with("refund_letter", dead(-5)).with("money", bounced.clone()),
            // A verdict is not sent while the money is on its way.
            sale().with("mail", dead(-10)).with("money", bounced),
        ]);
        let all = run(everything(ports(&world), None)).unwrap().unwrap();
        let letters: Vec<_> = all.iter().map(|letter| (letter.letter, letter.died_at_ms)).collect();
        assert_eq!(letters, [(Letter::Refund, at(-5))]);
    }

    /// Records and alerts that wait for the log come before work for a human.
    #[test]
    fn a_dead_letter_is_found_while_its_alert_waits() {
        let alert = Alert::about("T", Severity::Warn, at(-10), "OPERATION", "-", "detail");
        let unpublished = sale().with("mail", dead(-10)).with("alerts", vec![alert]);
        assert_eq!(unpublished.open_work().map(|open| open.work), Some(Work::InFlight));
        let all = run(everything(ports(&world_of([unpublished])), None)).unwrap().unwrap();
        assert_eq!(all.iter().map(|letter| letter.letter).collect::<Vec<_>>(), [Letter::Verdict]);
    }

    #[test]
    fn dead_letters_are_found_over_pages_and_by_time_and_on_the_list_of_unusable_sales() {
        let unusable = sale().with("fulfilment", Fulfilment::Unusable { at: at(-100) }).with("mail", Mail::NotOrdered);
        let world = world_of([
            sale().with("mail", dead(-10)),
            sale().with("mail", dead(-30)),
            sale().with("mail", dead(-20)),
            unusable.with("notice", dead(-40)),
            // A dead notice that is no longer wanted does not count.
            sale().with("notice", dead(-40)),
        ]);
        let all = run(everything(ports(&world), None)).unwrap().unwrap();
        let died: Vec<_> = all.iter().map(|letter| (letter.letter, letter.died_at_ms)).collect();
        assert_eq!(
            died,
            [
                (Letter::SilentDrop, at(-40)),
                (Letter::Verdict, at(-30)),
                (Letter::Verdict, at(-20)),
                (Letter::Verdict, at(-10)),
            ]
        );
        assert_eq!(run(everything(ports(&world), Some(at(-20)))).unwrap().unwrap().len(), 2);
    }
}

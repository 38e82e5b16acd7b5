//! Delivered verdicts that a newer block list would hold: an operator lists them, dismisses the finding, or replaces
//! the verdict on the page (content filter, failure mode 4). A refund is `refunds::issue`, as for any other sale.

use crate::{
    Done, Operator, Refusals, authority_gate,
    quarantine::examine::{self, Needs, Refusal},
};
use audit::{Change, Context, Journal, Record, hash};
use domain::{
    CachedVerdict, Sale, SessionId, Timestamp,
    ports::{CacheEntry, Versioned},
    sale::{Finding, NewVerdict},
};
use serde_json::Value;

/// Why a finding stays open.
#[derive(Debug, thiserror::Error)]
pub enum FindingError {
    /// There is no such sale.
    #[error("there is no such sale")]
    NoSale,
    /// A reason is missing.
    #[error("a decision about a finding needs a reason")]
    NoReason,
    /// The sale has no open finding.
    #[error("no finding of this sale waits for a decision")]
    NoFinding,
    /// The sale has the finding of another list than the operator has read.
    #[error(
        "a newer block list has found something else in it: read that (oracle findings show), and repeat the command"
    )]
    OtherList,
    /// The verdict on the page is not in the cache, so it cannot be replaced.
    #[error("the verdict is not in the cache: open its result page, which restores it, and repeat the command")]
    NotCached,
    /// The text must not be shown.
    #[error(transparent)]
    Refused(Refusal),
}

impl Refusals for FindingError {}

/// A finding, with the verdict that it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// The finding.
    pub finding: Finding,
    /// The verdict as the page shows it.
    pub cached: CachedVerdict,
    /// The terms that today's block list finds in it.
    pub terms: Vec<String>,
}

/// The open finding of a sale.
///
/// # Errors
/// [`FindingError`].
pub async fn finding(journal: Journal<'_>, session: &SessionId) -> Done<Finding, FindingError> {
    let (sale, _) = open(journal, session).await?;
    Ok(sale.value.open_finding().cloned().ok_or(FindingError::NoFinding)?)
}

/// The open finding of a sale, with the verdict that it is about.
///
/// # Errors
/// [`FindingError`].
pub async fn show(journal: Journal<'_>, session: &SessionId) -> Done<Case, FindingError> {
    let (sale, cached) = open(journal, session).await?;
    let finding = sale.value.open_finding().cloned().ok_or(FindingError::NoFinding)?;
    let cached = cached.ok_or(FindingError::NotCached)?;
    let terms = gates::before_page(&cached).terms();
    Ok(Case { finding, cached, terms })
}

/// Dismisses the finding of a block list: the delivered verdict stays unchanged.
///
/// # Errors
/// [`FindingError`]. Repeating is safe.
pub async fn dismiss(
    journal: Journal<'_>,
    operator: &Operator,
    session: &SessionId,
    list: &str,
) -> Done<(), FindingError> {
    reason(operator)?;
    let (sale, _) = open(journal, session).await?;
    let settle = |sale: &mut Sale, now| {
        // A dismissed finding is not found again, so the newer list's would stay unread.
        if sale.open_finding().is_some_and(|finding| finding.list != list) {
            return Change::nothing(Err(FindingError::OtherList));
        }
        match sale.dismiss_finding(operator) {
            Ok(event) => Change::of(&event, &Context::at(now), Ok(())),
            Err(_) => Change::nothing(Err(FindingError::NoFinding)),
        }
    };
    let (_, settled) = journal.commit(sale, settle).await?.settle().await;
    Ok(settled?)
}

/// Replaces the verdict on the page by a cleaned one, if that passes the checks of a model's reply and the grammar of a
/// narrative answer. The mail that was sent does not change.
///
/// # Errors
/// [`FindingError`]. Repeating is safe.
pub async fn replace(
    journal: Journal<'_>,
    operator: &Operator,
    session: &SessionId,
    verdict: &Value,
) -> Done<(), FindingError> {
    reason(operator)?;
    let (sale, cached) = open(journal, session).await?;
    let cached = cached.ok_or(FindingError::NotCached)?;
    let now = journal.clock.now();
    let (cached, records) = match cleaned(cached, &sale.value, verdict, now) {
        Ok(cleaned) => cleaned,
        Err(refused) => {
            if matches!(refused, Refusal::Locked(_)) {
                authority_gate::record_override(journal, sale, authority_gate::without_role(operator), true).await?;
            }
            return Err(FindingError::Refused(refused).into());
        }
    };
    let hash = hash::verdict_hash(&cached.verdict);
    let context = Context::at(now).with_evidence(records);
    let settle = |sale: &mut Sale, _| {
        let new = NewVerdict { colour: cached.verdict.verdict, verdict_hash: &hash };
        let Ok(event) = sale.replace_finding(operator, new, now) else {
            return (Change::nothing(false), None);
        };
        (Change::of(&event, &context, true), Some(Box::new(cached.clone())))
    };
    let (_, is_settled) = journal.commit_with_verdict(sale, settle).await?.settle().await;
    if is_settled { Ok(()) } else { Err(FindingError::NoFinding.into()) }
}

/// Checks an operator's verdict: the verdict to cache, and the records of the checks.
fn cleaned(
    cached: CachedVerdict,
    sale: &Sale,
    verdict: &Value,
    now: Timestamp,
) -> Result<(CachedVerdict, Vec<Record>), Refusal> {
    // First, so that an attempt to override a lock is recorded whatever the text says.
    let first = cached.first.as_ref().map(|first| first.query.as_str());
    examine::question(&cached.query, first, sale, Needs::Approvers)?;
    let sold_without = crosscheck::hollow(&cached.verdict, cached.tier, &cached.query);
    let examined = examine::verdict(verdict, cached.tier, &cached.query, &sold_without, now)?;
    let cached = CachedVerdict { verdict: examined.verdict, cached_at: now.to_iso(), ..cached };
    Ok((examine::replaced(cached, sale, Needs::Approvers)?, examined.records))
}

fn reason(operator: &Operator) -> Result<(), FindingError> {
    operator.reason().map(drop).ok_or(FindingError::NoReason)
}

/// A sale with an open finding, and its cached verdict if there is one.
async fn open(
    journal: Journal<'_>,
    session: &SessionId,
) -> Done<(Versioned<Sale>, Option<CachedVerdict>), FindingError> {
    let (sale, entry) = journal.store.load_with_verdict(session).await?;
    let sale = sale.ok_or(FindingError::NoSale)?;
    if sale.value.open_finding().is_none() {
        // Publishes records that an earlier command could not publish.
        journal.flush(sale).await;
        return Err(FindingError::NoFinding.into());
    }
    let cached = match entry {
        CacheEntry::Hit(cached) => Some(*cached),
        CacheEntry::Miss | CacheEntry::Removed | CacheEntry::Corrupt => None,
    };
    Ok((sale, cached))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NotDone::{self, Refused};
    use crate::testing::{
        at, decisions, journal, operator, sale, session, stored, whatever_breaks_or_is_done, world_with,
    };
    use domain::{Query, Tier, mail::Mail, sale::Fulfilment};
    use serde_json::json;
    use testkit::{World, run, sale::WithField};

    fn found() -> World {
        let mut sale = sale()
            .with("fulfilment", Fulfilment::Ready { at: at(-9), archived: true })
            .with("mail", Mail::Sent { at: at(-8) });
        sale.found_again("old", 1, at(-5)).unwrap();
        let world = world_with(sale);
        let verdict = serde_json::from_value(verdict("The CSDM leaves no doubt.")).unwrap();
        let cached = CachedVerdict::first(Tier::Quick, &Query::parse("Move?").unwrap(), verdict, at(-9));
        world.state().cache_verdict(&session(), &cached, at(-9));
        world
    }

    fn verdict(summary: &str) -> Value {
        json!({ "verdict": "GREEN", "summary": summary })
    }

    #[test]
    fn a_finding_is_shown_with_its_terms_and_let_stand_with_a_reason() {
        let world = found();
        let case = run(show(journal(&world), &session())).unwrap().unwrap();
        assert_eq!((case.finding.terms, case.terms), (1, vec!["CSDM".to_owned()]));
        let nameless = Operator::parse("dana", None).unwrap();
        let refused = run(dismiss(journal(&world), &nameless, &session(), "old")).unwrap();
        assert!(matches!(refused, Err(Refused(FindingError::NoReason))));
        run(dismiss(journal(&world), &operator(), &session(), "old")).unwrap().unwrap();
        assert_eq!(stored(&world).open_work(), None);
        assert_eq!(decisions(&world)[0]["action"], "finding dismissed");
        let again = run(dismiss(journal(&world), &operator(), &session(), "old")).unwrap();
        assert!(again.unwrap_err().is_refusal());
    }

    #[test]
    fn a_dismissal_that_names_an_older_list_is_refused() {
        let world = found();
        let mut sale = stored(&world);
        sale.found_again("new", 2, at(-1)).unwrap();
        world.state().sales.insert(session(), (sale.clone(), 2));
        let refused = run(dismiss(journal(&world), &operator(), &session(), "old")).unwrap();
        assert!(matches!(refused, Err(Refused(FindingError::OtherList))), "{refused:?}");
        assert_eq!(stored(&world), sale);
        run(dismiss(journal(&world), &operator(), &session(), "new")).unwrap().unwrap();
    }

    #[test]
    fn a_replacement_passes_the_checks_of_a_models_reply() {
        let world = found();
        let still = run(replace(journal(&world), &operator(), &session(), &verdict("The CSDM it is."))).unwrap();
        assert!(matches!(still, Err(Refused(FindingError::Refused(_)))));
        let hollow = run(replace(journal(&world), &operator(), &session(), &verdict("See above."))).unwrap();
        assert!(matches!(hollow, Err(Refused(FindingError::Refused(Refusal::Hollow(_))))), "{hollow:?}");
        // A narrative answer keeps its grammar (Authority Governance, RFC-0009).
        let question = "What does 'force majeure' mean?";
        let ask = |question: &str| {
            world.state().cache.get_mut(&session()).unwrap().query = question.to_owned();
        };
        ask(question);
        let breaking = verdict(&format!("Well, {}.", authority::evaluate(question, None).forbidden_phrases()[0]));
        let still = run(replace(journal(&world), &operator(), &session(), &breaking)).unwrap();
        assert!(matches!(still, Err(Refused(FindingError::Refused(Refusal::Grammar(_))))), "{still:?}");
        ask("Move?");
        world.state().cache.get_mut(&session()).unwrap().notice = Some("The notice of an older rule.".to_owned());
        run(replace(journal(&world), &operator(), &session(), &verdict("Move next year."))).unwrap().unwrap();
        assert_eq!((stored(&world).open_work(), stored(&world).keeps_page()), (None, false));
        let (_, entry) = run(journal(&world).store.load_with_verdict(&session())).unwrap().unwrap();
        let CacheEntry::Hit(cached) = entry else { panic!("{entry:?}") };
        assert_eq!((cached.verdict.summary.as_str(), cached.query.as_str()), ("Move next year.", "Move?"));
        assert_eq!(cached.notice, None, "the notice is today's");
        assert!(world.state().queue.is_empty() && world.state().outgoing.is_empty(), "nothing is mailed");
    }

    /// Authority Governance, Appendix F: the rules may have changed since the verdict was delivered.
    #[test]
    fn a_replacement_for_a_question_that_is_locked_today_is_refused_and_on_record() {
        let world = found();
        world.state().cache.get_mut(&session()).unwrap().query = "I want to kill myself".to_owned();
        // Whatever the text says.
        for (text, attempts) in [("Move next year.", 1), ("The CSDM says move.", 2)] {
            let refused = run(replace(journal(&world), &operator(), &session(), &verdict(text))).unwrap();
            assert!(matches!(refused, Err(Refused(FindingError::Refused(Refusal::Locked(_))))), "{refused:?}");
            let log = decisions(&world);
            assert_eq!(log.len(), attempts);
            let is_refused = log.last().unwrap()["action"].as_str().unwrap().starts_with("authority override refused");
            assert!(is_refused, "{log:?}");
        }
        assert!(world.state().alerts.iter().any(|alert| alert.line.contains("OVERRIDE")));
        assert!(stored(&world).open_finding().is_some());
    }

    #[test]
    fn whatever_breaks_a_finding_is_settled_once() {
        let is_done = |refused: &NotDone<FindingError>| matches!(refused, Refused(FindingError::NoFinding));
        let dismissed = |world: &World| run(dismiss(journal(world), &operator(), &session(), "old"));
        whatever_breaks_or_is_done(found, dismissed, is_done, |world, what| {
            assert_eq!(stored(world).open_work(), None, "{what}");
            assert_eq!(decisions(world).len(), 1, "{what}");
        });
        let cleaned = verdict("Move next year.");
        let replaced = |world: &World| run(replace(journal(world), &operator(), &session(), &cleaned));
        whatever_breaks_or_is_done(found, replaced, is_done, |world, what| {
            assert_eq!(stored(world).open_work(), None, "{what}");
            assert_eq!(decisions(world).len(), 1, "{what}");
            assert_eq!(world.state().cache[&session()].verdict.summary, "Move next year.", "{what}");
        });
    }
}

//! Overrides: two people let a release go live against its verdict; recorded, alerted, and limited to one deployment and
//! in time.

use crate::state::{FUNCTION, GateState, Override};
use audit::{FunctionJournal, Noted};
use domain::{
    Alert, CallerIdentity, StepError, Timestamp,
    alert::Severity,
    recorded_words::{self, InvalidWords},
};
use serde_json::json;
use std::{collections::BTreeSet, time::Duration};
use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

/// How long an override waits for its deployment, which takes minutes. The first deployment of the release uses it up, also
/// if its verdict alone would let it through: a forgotten override must not apply to the next one.
pub const OVERRIDE_LASTS: Duration = Duration::from_secs(4 * 3600);

/// A request of two people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    release: String,
    by: String,
    second: String,
    reason: String,
    identity: Option<CallerIdentity>,
}

/// The reason why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidOverride {
    /// A name, the reason or the release cannot go into the log.
    #[error("the {0} cannot go into the audit log: {1}")]
    Words(&'static str, InvalidWords),
    /// The two names may be different spellings of one person's name.
    #[error("an override needs two different people: these names may be one person's")]
    OnePerson,
    /// A name or a reason without letters.
    #[error("the {0} needs at least two letters")]
    NoLetters(&'static str),
}

impl Request {
    /// Parses a request of two different people.
    ///
    /// # Errors
    /// [`InvalidOverride`].
    pub fn parse(release: &str, by: &str, second: &str, reason: &str) -> Result<Self, InvalidOverride> {
        let read = |what, text| recorded_words::parse(text).map_err(|error| InvalidOverride::Words(what, error));
        let (by, second) = (read("first name", by)?, read("second name", second)?);
        let reason = read("reason", reason)?;
        for (what, text) in [("first name", &by), ("second name", &second), ("reason", &reason)] {
            if text.chars().filter(|of| of.is_alphabetic()).count() < 2 {
                return Err(InvalidOverride::NoLetters(what));
            }
        }
        if may_be_one_person(&by, &second) {
            return Err(InvalidOverride::OnePerson);
        }
        Ok(Self { release: read("release", release)?, by, second, reason, identity: None })
    }

    /// The same request with this AWS identity.
    #[must_use]
    pub fn known_as(self, identity: Option<CallerIdentity>) -> Self {
        Self { identity, ..self }
    }

    fn granted(&self, now: Timestamp) -> Override {
        let Self { release, by, second, reason, .. } = self.clone();
        Override { release, by, second, reason, until: now.plus(OVERRIDE_LASTS), used_by: None }
    }
}

/// Whether all words of one name are also in the other. This is true of "Dana Scully", "scully, dana", "d\u{e1}na" and
/// "dana (again)". Letters of other scripts count as the Latin letters that they look like.
fn may_be_one_person(one: &str, other: &str) -> bool {
    let (one, other) = (name_words(one), name_words(other));
    one.is_subset(&other) || other.is_subset(&one)
}

fn name_words(name: &str) -> BTreeSet<String> {
    let folded: String = name.nfkd().filter(|of| !is_combining_mark(*of)).flat_map(char::to_lowercase).collect();
    let latin: String = unicode_security::skeleton(&folded).collect();
    // "\u{df}" is "ss" in capitals.
    let latin = latin.to_uppercase().to_lowercase();
    let visible = latin.chars().filter(|of| of.is_alphanumeric() || of.is_ascii());
    let words: String = visible.collect();
    words.split(|of: char| !of.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// Grants an override. It is recorded and operators are alerted before it applies.
///
/// # Errors
/// [`StepError`]: the override was not granted, or it was granted and the reply was lost. Granting again is safe.
pub async fn grant(journal: FunctionJournal<'_>, request: &Request) -> Result<Override, StepError> {
    let journal = FunctionJournal { function: FUNCTION, ..journal };
    let notebook = journal.load::<GateState>().await?;
    let decide = |state: &mut GateState, now| {
        let granted = request.granted(now);
        state.overrides.retain(|other| now < other.until && other.release != granted.release);
        state.overrides.push(granted.clone());
        let facts = json!({
            "release": granted.release, "by": granted.by, "second": granted.second, "reason": granted.reason,
            "until": granted.until.to_iso(), "identity": request.identity,
        });
        let detail = format!(
            "{} and {} let release {} go live once, whatever its verdict, until {}: {}",
            granted.by, granted.second, granted.release, granted.until, granted.reason
        );
        let alert = Alert::about("ORACLE-GATE", Severity::Critical, now, "OVERRIDE", &granted.release, &detail);
        Noted::save(granted).requiring("override_granted", facts).alerting(alert)
    };
    let (_, granted) = journal.commit(notebook, decide).await?.settle().await;
    Ok(granted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::Build;
    use testkit::{World, run};

    const NOW: Timestamp = Timestamp::from_seconds(1_776_322_800);

    #[test]
    fn an_override_needs_two_people_and_a_reason() {
        let parse = |by, second, reason| Request::parse("v7", by, second, reason);
        assert!(parse("dana", "kim", "the alarm is known").is_ok());
        assert_eq!(parse("dana", " Dana ", "the alarm is known"), Err(InvalidOverride::OnePerson));
        assert_eq!(parse("dana", "", "why"), Err(InvalidOverride::Words("second name", InvalidWords::Empty)));
        assert_eq!(parse("dana", "kim", " "), Err(InvalidOverride::Words("reason", InvalidWords::Empty)));
        assert_eq!(parse("dana", "--", "why"), Err(InvalidOverride::NoLetters("second name")));
        assert_eq!(parse("dana", "kim", "."), Err(InvalidOverride::NoLetters("reason")));
        assert_eq!(
            Request::parse("", "dana", "kim", "why"),
            Err(InvalidOverride::Words("release", InvalidWords::Empty))
        );
    }

    #[test]
    fn one_person_under_two_spellings_is_one_person() {
        for (one, other) in [
            ("dana", "d\u{200b}ana"),
            ("dana", "dana\u{ad}"),
            ("dana", "ｄａｎａ"),
            ("dana", "d\u{430}na"),
            ("dana", "dana (again)"),
            ("dana scully", "dana  scully"),
            ("dana.k", "dana k"),
            ("Dana Scully", "Scully, Dana"),
            ("Jose", "José"),
            ("STRASSE", "straße"),
            ("\u{fb01}ona", "fiona"),
            ("dana", "DANA"),
        ] {
            assert_eq!(Request::parse("v7", one, other, "why not"), Err(InvalidOverride::OnePerson), "{one} {other}");
        }
        for (one, other) in [("dana", "diana"), ("Dana Scully", "Dana Katz"), ("李雷", "韩梅梅")] {
            assert!(Request::parse("v7", one, other, "why not").is_ok(), "{one} {other}");
        }
    }

    #[test]
    fn an_override_covers_one_deployment_of_one_release_for_four_hours() {
        let granted = Request::parse("v7", "dana", "kim", "why").unwrap().granted(NOW);
        let build = |release: &str, deployment: &str| Build {
            release: release.to_owned(),
            deployment: Some(deployment.to_owned()),
            ..Build::default()
        };
        assert!(granted.covers(&build("v7", "d-1"), NOW));
        assert!(!granted.covers(&build("v8", "d-1"), NOW));
        assert!(!granted.covers(&build("v7", "d-1"), NOW.plus(OVERRIDE_LASTS)));
        let used = Override { used_by: Some("d-1".to_owned()), ..granted };
        assert!(used.covers(&build("v7", "d-1"), NOW), "the same deployment asks again");
        assert!(!used.covers(&build("v7", "d-2"), NOW));
        assert!(!used.covers(&Build { deployment: None, ..build("v7", "") }, NOW), "asked by hand");
    }

    #[test]
    fn an_override_that_an_earlier_version_granted_stays_readable() {
        let stored = r#"{"release":"v7","by":"dana","second":"kim","reason":"why","until":1776322800000}"#;
        let granted: Override = serde_json::from_str(stored).unwrap();
        assert_eq!(granted.used_by, None);
        assert_eq!(serde_json::to_string(&granted).unwrap(), stored);
    }

    #[test]
    fn a_granted_override_is_kept_recorded_and_alerted() {
        let world = World::at(NOW);
        let journal = FunctionJournal { function: FUNCTION, notes: &world, log: &world, alerts: &world, clock: &world };
        let request = Request::parse("v7", "dana", "kim", "the alarm is known").unwrap();
        let granted = run(grant(journal, &request)).unwrap().unwrap();
        run(grant(journal, &request)).unwrap().unwrap();
        let saved: GateState = run(journal.load()).unwrap().unwrap().value.memory;
        assert_eq!(saved.overrides, [granted], "asked for twice, granted once");
        let state = world.state();
        assert_eq!(state.log.len(), 2, "each time it was asked for");
        assert!(state.log.values().all(|line| line.contains("override_granted") && line.contains("dana")));
        assert!(state.alerts[0].line.contains("dana and kim let release v7 go live"), "{:?}", state.alerts);
    }
}

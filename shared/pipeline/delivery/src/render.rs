//! The verdict mail, plain text, as the examples of the Verdict Pipeline spec show it. The same sale always
//! renders to the same bytes.

use domain::{CachedVerdict, Colour, SessionId, Tier, texts};

/// A rendered mail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered {
    /// The subject.
    pub subject: String,
    /// The body.
    pub body: String,
}

/// Renders the mail of a verdict. `site` is the public address, without a trailing slash.
#[must_use]
pub fn render(session: &SessionId, cached: &CachedVerdict, site: &str) -> Rendered {
    render_with(session, cached, site, &submission(session, cached))
}

/// The same with a reference in place of the question.
#[must_use]
pub fn render_without_echo(session: &SessionId, cached: &CachedVerdict, site: &str) -> Rendered {
    render_with(session, cached, site, &gates::withheld_line(session))
}

fn render_with(session: &SessionId, cached: &CachedVerdict, site: &str, submission: &str) -> Rendered {
    let title = match cached.tier {
        Tier::Quick => "ORACLE VERDICT — QUICK TAKE",
        Tier::Full => "ORACLE VERDICT — FULL BREAKDOWN",
        Tier::Strategy => "ORACLE VERDICT — STRATEGY SESSION",
    };
    let width = title.chars().count();
    let (double, single) = ("═".repeat(width), "─".repeat(width));
    let verdict = &cached.verdict;
    let mut body = format!(
        "{title}\n{double}\n\nYOUR SUBMISSION:\n{}\n\nVERDICT: {}\n\n{}\n",
        submission,
        coloured(verdict.verdict),
        verdict.summary
    );
    // The referral of a narrative answer; a regenerated verdict's notice is the page's.
    if let Some(notice) = cached.notice.as_ref().filter(|_| !cached.regen) {
        body.push_str(&format!("\nPLEASE NOTE: {notice}\n"));
    }
    if let Some(breakdown) = &verdict.breakdown {
        body.push_str("\nBREAKDOWN\n");
        for (name, dimension) in breakdown.named() {
            body.push_str(&format!("\n{name}: {}\n{}\n", coloured(dimension.verdict), dimension.analysis));
        }
    }
    if let Some(strategy) = &verdict.strategy {
        body.push_str("\nSTRATEGIC RECOMMENDATIONS\n");
        body.push_str(&format!(
            "\nNext step:\n{}\n\nAlternative path:\n{}\n",
            strategy.next_step, strategy.alternative
        ));
        body.push_str("\nTests:\n");
        for (number, test) in (1..).zip(&strategy.tests) {
            body.push_str(&format!("{number}. {test}\n"));
        }
    }
    body.push_str(&format!("\nYour result page:\n{site}/oracle/result?session_id={}\n", session.as_str()));
    body.push_str(&format!("\n{single}\n42 Sisters AI · oracle@42sisters.ai\nQuestions? Reply to this email.\n"));
    if cached.tier == Tier::Strategy {
        body.push_str(
            "Your follow-up submission is included in this tier. Reply to this email with your follow-up question.\n",
        );
    }
    Rendered { subject: texts::VERDICT_MAIL_SUBJECT.to_owned(), body }
}

/// Renders the mail that asks for a submission that did not arrive (Silent Drop, output 1).
#[must_use]
pub fn render_silent_drop() -> Rendered {
    Rendered { subject: texts::SILENT_DROP_SUBJECT.to_owned(), body: texts::SILENT_DROP_BODY.to_owned() }
}

/// Renders the note about a regenerated verdict (Regen Consistency, tertiary output).
#[must_use]
pub fn render_divergence(session: &SessionId, site: &str) -> Rendered {
    let body = format!(
        "{}\n\nYour result page:\n{site}/oracle/result?session_id={}\n\n42 Sisters AI · oracle@42sisters.ai\n",
        texts::DIVERGENCE_NOTE,
        session.as_str()
    );
    Rendered { subject: texts::DIVERGENCE_SUBJECT.to_owned(), body }
}

/// The customer's own words, or a reference where they hold a blocked term: they are never changed, and never
/// the reason why a verdict is held.
fn submission(session: &SessionId, cached: &CachedVerdict) -> String {
    if gates::may_echo(&cached.query) { cached.query.clone() } else { gates::withheld_line(session) }
}

fn coloured(colour: Colour) -> String {
    let dot = match colour {
        Colour::Green => "🟢",
        Colour::Amber => "🟡",
        Colour::Red => "🔴",
        Colour::Null => "⚫",
    };
    format!("{dot} {}", colour.word())
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{Dimension, Query, Strategy, Timestamp, Verdict, verdict::Breakdown};

    fn session() -> SessionId {
        SessionId::parse("cs_live_abc123").unwrap()
    }

    fn cached(tier: Tier, verdict: Verdict, query: &str) -> CachedVerdict {
        CachedVerdict::first(tier, &Query::parse(query).unwrap(), verdict, Timestamp::from_seconds(0))
    }

    fn quick() -> Verdict {
        Verdict {
            verdict: Colour::Amber,
            summary: "The instinct is sound but the timing is missing — this needs a 6-month runway before you pull the trigger.".into(),
            breakdown: None,
            strategy: None,
        }
    }

    /// Verdict Pipeline, example 1: to the letter, with the link that Product Tiers adds.
    #[test]
    fn a_quick_take_reads_as_in_the_spec() {
        let mail = render(
            &session(),
            &cached(Tier::Quick, quick(), "Should I quit my job to start this business?"),
            "https://42sisters.ai",
        );
        let expected = "ORACLE VERDICT — QUICK TAKE
═══════════════════════════

YOUR SUBMISSION:
Should I quit my job to start this business?

VERDICT: 🟡 AMBER

The instinct is sound but the timing is missing — this needs a 6-month runway before you pull the trigger.

Your result page:
https://42sisters.ai/oracle/result?session_id=cs_live_abc123

───────────────────────────
42 Sisters AI · oracle@42sisters.ai
Questions? Reply to this email.
";
        assert_eq!((mail.subject.as_str(), mail.body.as_str()), ("Your 42 Sisters AI Verdict", expected));
    }

    #[test]
    fn a_strategy_session_has_both_blocks_and_the_follow_up_footer() {
        let dimension = |colour, text: &str| Dimension { verdict: colour, analysis: text.into() };
        let verdict = Verdict {
            breakdown: Some(Breakdown {
                stability: dimension(Colour::Green, "one"),
                turbulence: dimension(Colour::Amber, "two"),
                change_rate: dimension(Colour::Red, "three"),
                completion: dimension(Colour::Amber, "four"),
                curvature: dimension(Colour::Green, "five"),
            }),
            strategy: Some(Strategy {
                next_step: "Model it.".into(),
                alternative: "License it.".into(),
                tests: vec!["Run menus.".into(), "Survey clients.".into(), "Read the lease.".into()],
            }),
            ..quick()
        };
        let mail = render(&session(), &cached(Tier::Strategy, verdict, "x"), "https://s").body;
        let order = [
            "ORACLE VERDICT — STRATEGY SESSION\n═",
            "VERDICT: 🟡 AMBER",
            "BREAKDOWN",
            "Stability: 🟢 GREEN\none",
            "Turbulence: 🟡 AMBER\ntwo",
            "Change Rate: 🔴 RED\nthree",
            "Completion: 🟡 AMBER\nfour",
            "Curvature: 🟢 GREEN\nfive",
            "STRATEGIC RECOMMENDATIONS",
            "Next step:\nModel it.",
            "Alternative path:\nLicense it.",
            "1. Run menus.\n2. Survey clients.\n3. Read the lease.",
            "https://s/oracle/result?session_id=cs_live_abc123",
            "Questions? Reply to this email.",
            "Your follow-up submission is included in this tier. Reply to this email with your follow-up question.",
        ];
        let mut from = 0;
        for part in order {
            let at = mail[from..].find(part).unwrap_or_else(|| panic!("{part:?} is missing or out of order"));
            from += at + part.len();
        }
    }

    #[test]
    fn a_question_with_a_blocked_term_is_not_echoed() {
        let mail = render(&session(), &cached(Tier::Quick, quick(), "Is TMM any good?"), "https://s").body;
        assert!(!mail.contains("TMM"));
        assert!(mail.contains("YOUR SUBMISSION:\nYour submission is on file under reference"));
        assert!(mail.contains(&quick().summary), "the verdict is not weakened");
    }

    /// Silent Drop, invariant 5.
    #[test]
    fn the_silent_drop_mail_passes_the_filter() {
        let Rendered { subject, body } = render_silent_drop();
        for text in [subject, body] {
            assert_eq!(filter::Filter::embedded().check(&text).outcome, filter::Outcome::Pass, "{text}");
        }
    }

    #[test]
    fn the_note_about_a_divergence_passes_the_filter() {
        let Rendered { subject, body } = render_divergence(&session(), "https://42sisters.ai");
        for text in [subject, body] {
            assert_eq!(filter::Filter::embedded().check(&text).outcome, filter::Outcome::Pass, "{text}");
        }
    }

    #[test]
    fn every_template_passes_the_filter() {
        for tier in Tier::ALL {
            for colour in Colour::ALL {
                let mail = render(&session(), &cached(tier, Verdict { verdict: colour, ..quick() }, "x"), "https://s");
                for text in [mail.subject, mail.body] {
                    assert_eq!(filter::Filter::embedded().check(&text).outcome, filter::Outcome::Pass, "{text}");
                }
            }
        }
    }
}

use super::*;
use domain::{Dimension, Query, Strategy, Timestamp, Verdict, verdict::Breakdown};

#[path = "forgeries.rs"]
mod forgeries;

fn session() -> SessionId {
    SessionId::parse("cs_live_abc123").unwrap()
}

fn cached(tier: Tier, verdict: Verdict, query: &str) -> CachedVerdict {
    CachedVerdict::first(tier, &Query::parse(query).unwrap(), verdict, Timestamp::from_seconds(0))
}

fn quick() -> Verdict {
    Verdict {
        verdict: Colour::Amber,
        summary:
            "The instinct is sound but the timing is missing — this needs a 6-month runway before you pull the trigger."
                .into(),
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

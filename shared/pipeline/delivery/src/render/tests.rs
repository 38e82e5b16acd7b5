//! Mails as customers read them.
//! The file has more than 300 lines because it contains whole mails.

use super::*;
use domain::{Dimension, Query, Strategy, Timestamp, Verdict, authority_state::State, verdict::Breakdown};

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

/// Verdict Pipeline, example 1: byte for byte, with the link that Product Tiers adds.
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

/// The notice that a customer must get is in every mail; the one about a regeneration is for the page only.
#[test]
fn a_referral_is_in_the_mail_of_a_regenerated_verdict_too() {
    let mail = |notice: Option<&str>, regen| {
        let mut cached = cached(Tier::Quick, quick(), "What does my lease say?");
        (cached.notice, cached.regen) = (notice.map(str::to_owned), regen);
        render(&session(), &cached, "https://42sisters.ai").body
    };
    let regenerated = format!("{} Ask a lawyer.", texts::REGENERATED_NOTICE);
    for notice in ["Ask a lawyer.", &regenerated] {
        let body = mail(Some(notice), true);
        assert!(body.contains("\nPLEASE NOTE: Ask a lawyer.\n"), "{body}");
    }
    for (notice, regen) in [(Some(texts::REGENERATED_NOTICE), true), (None, false)] {
        assert!(!mail(notice, regen).contains("PLEASE NOTE"), "{notice:?}");
    }
}

/// A whole verdict of the strategy tier, with texts of one word.
fn strategy() -> Verdict {
    let dimension = || Dimension { verdict: Colour::Green, analysis: "MODEL".into() };
    Verdict {
        verdict: Colour::Green,
        summary: "MODEL".into(),
        breakdown: Some(Breakdown {
            stability: dimension(),
            turbulence: dimension(),
            change_rate: dimension(),
            completion: dimension(),
            curvature: dimension(),
        }),
        strategy: Some(Strategy {
            next_step: "MODEL".into(),
            alternative: "MODEL".into(),
            tests: vec!["MODEL".into()],
        }),
    }
}

/// The verdict on a follow-up, five days after the first one.
fn followup(verdict: Verdict, first: &str, query: &str) -> CachedVerdict {
    let first = cached(Tier::Strategy, strategy(), first);
    let asked = Timestamp::from_seconds(5 * 86_400 + 3_660);
    let followup = CachedVerdict::first(Tier::Strategy, &Query::parse(query).unwrap(), verdict, asked);
    CachedVerdict { first: Some(Box::new(first.into())), ..followup }
}

#[test]
fn the_mail_of_a_followup_shows_both_verdicts_with_their_dates() {
    let cached = followup(quick(), "Should I open a shop?\n\nVERDICT: 🔴 RED", "And if I wait?");
    let mail = render(&session().followup(), &cached, "https://42sisters.ai");
    let begins = "ORACLE VERDICT — STRATEGY SESSION, FOLLOW-UP
════════════════════════════════════════════

YOUR FOLLOW-UP, 1970-01-06 01:01 UTC:
And if I wait?

VERDICT: 🟡 AMBER

The instinct is sound";
    assert!(mail.body.starts_with(begins), "{}", mail.body);
    let (_, rest) = mail.body.split_once("\nYOUR FIRST SUBMISSION, 1970-01-01 00:00 UTC:\n").unwrap();
    assert!(rest.starts_with("> Should I open a shop?\n"), "the first question is quoted too: {rest}");
    assert!(rest.contains("> VERDICT: (red) RED\n\nVERDICT: 🟢 GREEN\n\nMODEL\n\nBREAKDOWN\n"), "{rest}");
    let ends = "
Your result page:
https://42sisters.ai/oracle/result?session_id=cs_live_abc123

────────────────────────────────────────────
42 Sisters AI · oracle@42sisters.ai
Questions? Reply to this email.
";
    assert!(rest.ends_with(ends), "the page of the session, and no second follow-up: {rest}");
    let withheld = render_without_echo(&session().followup(), &cached, "https://42sisters.ai");
    assert!(!withheld.body.contains("And if I wait?"), "{}", withheld.body);
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
        "Your follow-up submission is included in this tier. Reply to this email with your follow-up question. \
         Please end it with a question mark, or ask it on your result page: ",
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

/// The page knows the paid session alone.
#[test]
fn the_note_about_a_follow_up_leads_to_the_page_of_its_sale() {
    let Rendered { body, .. } = render_divergence(&session().followup(), "https://42sisters.ai");
    assert!(body.contains(&format!("session_id={}\n", session().as_str())), "{body}");
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

/// The states of a declined question, and whether it may disclose self-harm.
fn declined_states() -> [(State, bool); 6] {
    [
        (State::Blocked, false),
        (State::Blocked, true),
        (State::RequiresSpecification, false),
        (State::AmbiguousMapping, false),
        (State::RequiresOracleVerification, false),
        (State::Unresolvable, false),
    ]
}

fn declined(state: State, is_crisis: bool) -> Declined {
    Declined {
        state,
        reason: "high_stakes".to_owned(),
        domain: "medicine".to_owned(),
        lock: domain::sale::HumanLock::Never,
        helpers: vec![domain::sale::Helper {
            name: "9-8-8: Suicide Crisis Helpline".into(),
            contact: "call 9-8-8".into(),
        }],
        advice: if is_crisis { Vec::new() } else { vec!["Ask a pharmacist.".into()] },
        is_crisis,
        is_emergency: false,
        at: Timestamp::from_seconds(0),
        approvals: Vec::new(),
        approved_at: None,
    }
}

#[test]
fn the_mail_of_a_declined_question_says_who_helps() {
    let mail = render_declined(&session(), &declined(State::Blocked, true), true);
    let expected =
        "I hear that you're going through something really hard. These feelings are serious, and you deserve \
support right now. Please reach out to one of these. If you're in immediate danger, please call your local emergency \
number.

You can reach them now:
- 9-8-8: Suicide Crisis Helpline: call 9-8-8

Your payment is returned automatically.

— 42 Sisters AI
oracle@42sisters.ai
";
    assert_eq!((mail.subject.as_str(), mail.body.as_str()), ("About your question to 42 Sisters AI", expected));
    let disputed = render_declined(&session(), &declined(State::Blocked, true), false).body;
    assert_eq!(disputed, expected.replace("Your payment is returned automatically.\n\n", ""));
    let mail = render_declined(&session(), &declined(State::Blocked, false), true);
    let expected = "Hi there,

We do not give a verdict on this question, because it could do harm. Please ask a person who knows your whole situation.

Who can help:
- 9-8-8: Suicide Crisis Helpline: call 9-8-8

What you can do instead:
- Ask a pharmacist.

We have refunded your payment in full. You don't have to do anything. The money goes back to the card or account you \
paid with. Most banks show it within 5 to 10 business days.

If anything about this is unclear, just reply to this email. Your order's reference is REFERENCE.

— 42 Sisters AI
oracle@42sisters.ai
";
    assert_eq!(mail.body, expected.replace("REFERENCE", session().reference()));
}

/// A customer with several orders learns which one was refunded. The follow-up's refund is that of its session.
#[test]
fn the_mail_about_a_refund_names_the_order() {
    let expected = format!("just reply to this email. Your order's reference is {}.\n\n", session().reference());
    for order in [session(), session().followup()] {
        let mail = render_refund(&order);
        assert!(mail.body.contains(&expected) && !mail.body.contains('{'), "{}", mail.body);
        assert_eq!(gates::before_mail(&mail.subject, &mail.body).outcome(), filter::Outcome::Pass);
    }
}

/// Gate 2 would never let a mail go out that it quarantines, and this mail is in no operator's list of held verdicts.
#[test]
fn the_texts_of_a_declined_question_pass_gate_2() {
    let emergency = Declined { is_emergency: true, ..declined(State::Blocked, false) };
    let decisions = declined_states().map(|(state, is_crisis)| declined(state, is_crisis));
    for declined in decisions.into_iter().chain([emergency]) {
        let mail = render_declined(&session(), &declined, true);
        let lines = std::iter::once(mail.subject.as_str()).chain(mail.body.split('\n'));
        assert_eq!(gates::run(gates::Gate::BeforeDelivery, lines).outcome(), filter::Outcome::Pass, "{declined:?}");
    }
}

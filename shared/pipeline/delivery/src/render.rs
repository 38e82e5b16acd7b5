//! Renders the mails as plain text, in the form of the Verdict Pipeline spec's examples. The same sale always renders
//! to the same bytes.

use domain::{
    CachedVerdict, Colour, SessionId, Tier, Verdict,
    customer_text::{self, prose},
    sale::Declined,
    texts,
};

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
    render_with(session, cached, site, &echo(session, &cached.query))
}

/// Renders the mail of a verdict with a reference in place of the question.
#[must_use]
pub fn render_without_echo(session: &SessionId, cached: &CachedVerdict, site: &str) -> Rendered {
    render_with(session, cached, site, &gates::withheld_line(session))
}

fn render_with(session: &SessionId, cached: &CachedVerdict, site: &str, submission: &str) -> Rendered {
    let title = match (cached.tier, &cached.first) {
        (_, Some(_)) => "ORACLE VERDICT — STRATEGY SESSION, FOLLOW-UP",
        (Tier::Quick, None) => "ORACLE VERDICT — QUICK TAKE",
        (Tier::Full, None) => "ORACLE VERDICT — FULL BREAKDOWN",
        (Tier::Strategy, None) => "ORACLE VERDICT — STRATEGY SESSION",
    };
    let width = title.chars().count();
    let (double, single) = ("═".repeat(width), "─".repeat(width));
    let mut body = format!("{title}\n{double}\n\n");
    match &cached.first {
        None => {
            body.push_str(&format!("YOUR SUBMISSION:\n{submission}\n\n"));
            push_verdict(&mut body, &cached.verdict, notice(cached));
        }
        Some(first) => {
            body.push_str(&format!("YOUR FOLLOW-UP, {}:\n{submission}\n\n", minute(&cached.cached_at)));
            push_verdict(&mut body, &cached.verdict, notice(cached));
            body.push_str(&format!("\n{single}\nYOUR FIRST SUBMISSION, {}:\n", minute(&first.cached_at)));
            body.push_str(&format!("{}\n\n", echo(&session.paid_session(), &first.query)));
            push_verdict(&mut body, &first.verdict, None);
        }
    }
    let page = session.paid_session();
    body.push_str(&format!("\nYour result page:\n{site}/oracle/result?session_id={}\n", page.as_str()));
    body.push_str(&format!("\n{single}\n42 Sisters AI · oracle@42sisters.ai\nQuestions? Reply to this email.\n"));
    if cached.tier == Tier::Strategy && cached.first.is_none() {
        body.push_str(
            "Your follow-up submission is included in this tier. Reply to this email with your follow-up question. \
             Please end it with a question mark, or ask it on your result page: a person reads any other reply, and it \
             uses nothing up.\n",
        );
    }
    Rendered { subject: texts::VERDICT_MAIL_SUBJECT.to_owned(), body }
}

/// The referral of a narrative answer. The sentence about a regenerated verdict before it is for the page only.
fn notice(cached: &CachedVerdict) -> Option<&str> {
    let notice = cached.notice.as_deref()?;
    let referral = notice.strip_prefix(texts::REGENERATED_NOTICE).unwrap_or(notice).trim_start();
    Some(referral).filter(|referral| !referral.is_empty())
}

fn push_verdict(body: &mut String, verdict: &Verdict, notice: Option<&str>) {
    body.push_str(&format!("VERDICT: {}\n\n{}\n", coloured(verdict.verdict), prose(&verdict.summary)));
    if let Some(notice) = notice {
        body.push_str(&format!("\nPLEASE NOTE: {notice}\n"));
    }
    if let Some(breakdown) = &verdict.breakdown {
        body.push_str("\nBREAKDOWN\n");
        for (name, dimension) in breakdown.named() {
            body.push_str(&format!("\n{name}: {}\n{}\n", coloured(dimension.verdict), prose(&dimension.analysis)));
        }
    }
    if let Some(strategy) = &verdict.strategy {
        body.push_str("\nSTRATEGIC RECOMMENDATIONS\n");
        body.push_str(&format!(
            "\nNext step:\n{}\n\nAlternative path:\n{}\n",
            prose(&strategy.next_step),
            prose(&strategy.alternative)
        ));
        body.push_str("\nTests:\n");
        for (number, test) in (1..).zip(&strategy.tests) {
            body.push_str(&format!("{number}. {}\n", prose(test)));
        }
    }
}

/// The date and minute of a verdict in readable form: `2026-11-22 10:04 UTC`.
fn minute(cached_at: &str) -> String {
    let (day, time) = cached_at.split_once('T').unwrap_or((cached_at, ""));
    format!("{day} {} UTC", time.get(..5).unwrap_or(time))
}

/// Renders the mail that asks for a missing submission (Silent Drop, output 1).
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
        session.paid_session().as_str()
    );
    Rendered { subject: texts::DIVERGENCE_SUBJECT.to_owned(), body }
}

/// Renders the mail about an automatic refund.
#[must_use]
pub fn render_refund(session: &SessionId) -> Rendered {
    let body = texts::REFUND_BODY.replace("{order}", &order(session));
    Rendered { subject: texts::REFUND_SUBJECT.to_owned(), body }
}

/// Names the order to a customer who has several, and to us when they write. It is the same at every attempt.
fn order(session: &SessionId) -> String {
    format!("Your order's reference is {}.", session.paid_session().reference())
}

/// Renders the mail about a question that the authority gate declined: sources of help and alternatives. A possible
/// disclosure of self-harm gets the resources first and nothing about an order; its mail does not wait for the refund, so
/// `gives_money_back` is whether it may announce it.
#[must_use]
pub fn render_declined(session: &SessionId, declined: &Declined, gives_money_back: bool) -> Rendered {
    let list = |heading: &str, lines: &[String]| match lines {
        [] => String::new(),
        lines => format!("{heading}\n- {}\n\n", lines.join("\n- ")),
    };
    let helpers: Vec<String> =
        declined.helpers.iter().map(|helper| format!("{}: {}", helper.name, helper.contact)).collect();
    let (sentence, signature) = (declined.sentence(), texts::SIGNATURE);
    let body = if declined.is_crisis {
        let helpers = list("You can reach them now:", &helpers);
        let money = if gives_money_back { format!("{}\n\n", texts::MONEY_GOES_BACK) } else { String::new() };
        format!("{sentence}\n\n{helpers}{money}{signature}")
    } else {
        let heading =
            if declined.is_incomplete() { "What your question leaves open:" } else { "What you can do instead:" };
        let (helpers, advice) = (list("Who can help:", &helpers), list(heading, &declined.advice));
        let refund = format!("{} {}", texts::DECLINED_REFUND, order(session));
        format!("Hi there,\n\n{sentence}\n\n{helpers}{advice}{refund}\n\n{signature}")
    };
    Rendered { subject: texts::DECLINED_SUBJECT.to_owned(), body }
}

/// The customer's own words, quoted so that none of their lines looks like one of ours, or a reference if they contain
/// a blocked term: a verdict is never held because of them.
fn echo(session: &SessionId, query: &str) -> String {
    if gates::may_echo(query) { customer_text::quoted(query) } else { gates::withheld_line(session) }
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
mod tests;

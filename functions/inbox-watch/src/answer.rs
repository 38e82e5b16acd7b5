//! Decides whether a sender is acknowledged and what operators and the sender read: plain functions over one message.

use crate::state::Kind;
use domain::{EmailAddress, customer_text, inbox::Incoming, texts};

/// Senders that get no acknowledgement (Inbox Watch, invariant 4).
const SKIPPED: [&str; 4] = ["oracle@42sisters.ai", "noreply@stripe.com", "no-reply@stripe.com", "receipts@stripe.com"];

/// The most characters of a subject or a sender in an alert line or a mail.
const MOST: usize = 200;

/// Why a message gets no acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unanswered {
    /// The sender is on the list, or is this mailbox itself (Inbox Watch, invariants 4 and 6).
    Listed,
    /// The sender's address begins with "no-reply" (Inbox Watch, invariant 5).
    NoReply,
    /// A machine sent it: two machines that answer each other would never stop (RFC 3834).
    Automatic,
    /// The sender is not an address.
    NoAddress,
    /// The sender failed DMARC. The address may be forged, and its owner must not get an acknowledgement.
    Unauthenticated,
}

impl Unanswered {
    /// The code in the audit log.
    pub(crate) const fn code(self) -> &'static str {
        match self {
            Self::Listed => "skipped_listed",
            Self::NoReply => "skipped_no_reply",
            Self::Automatic => "skipped_automatic",
            Self::NoAddress => "skipped_no_address",
            Self::Unauthenticated => "skipped_unauthenticated",
        }
    }
}

/// The recipient of an acknowledgement, or the reason why no acknowledgement is sent. `own` is the mailbox's own address.
pub(crate) fn recipient(message: &Incoming, own: &EmailAddress) -> Result<EmailAddress, Unanswered> {
    let sender = message.sender.to_lowercase();
    if SKIPPED.contains(&sender.as_str()) || sender == own.expose().to_lowercase() {
        return Err(Unanswered::Listed);
    }
    if sender.starts_with("no-reply") {
        return Err(Unanswered::NoReply);
    }
    let address = EmailAddress::parse(&message.sender).map_err(|_| Unanswered::NoAddress)?;
    if is_delivery_report(message) || message.headers.iter().any(|(name, value)| is_automatic(name, value)) {
        return Err(Unanswered::Automatic);
    }
    Ok(address)
}

/// Whether a header says that no person expects an answer (RFC 3834, section 2; RFC 2919; Exchange's own).
fn is_automatic(name: &str, value: &str) -> bool {
    let value = value.trim().to_lowercase();
    match name.to_lowercase().as_str() {
        "auto-submitted" => value.split(';').next().unwrap_or_default().trim() != "no",
        "x-auto-response-suppress" => value.split(',').any(|what| matches!(what.trim(), "all" | "autoreply" | "oof")),
        "list-id" => true,
        "precedence" => matches!(value.as_str(), "bulk" | "list" | "junk" | "auto_reply"),
        "return-path" => matches!(value.as_str(), "" | "<>"),
        _ => false,
    }
}

/// Whether a mail system reports on the delivery of a mail (RFC 3464): a mail of ours may not have arrived. Anybody can
/// write such a message.
pub(crate) fn is_delivery_report(message: &Incoming) -> bool {
    let sender = message.sender.to_lowercase();
    let is_report = |(name, value): &(String, String)| {
        let value = value.trim().to_lowercase();
        name.eq_ignore_ascii_case("content-type")
            && value.starts_with("multipart/report")
            && value.contains("delivery-status")
    };
    ["mailer-daemon@", "postmaster@"].iter().any(|start| sender.starts_with(start))
        || message.headers.iter().any(is_report)
}

/// The subject of an answer that repeats nothing of the message's own.
const OWN_SUBJECT: &str = "Re: your message";

/// The subject of an acknowledgement: "Re: " and the original, unless that begins with "Re:" in exactly this case
/// (Inbox Watch, invariant 9). An original with a blocked term is not repeated, because no mail has one (content filter,
/// invariant 1). The subject of a mail with sources of help is fixed: the original may contain the disclosure, and lock
/// screens show subjects.
pub(crate) fn subject(kind: Kind, original: &str) -> String {
    let shown = customer_text::defused_line(original, MOST);
    // What is sent counts, and so does what the brackets of a defused address may hide.
    if kind == Kind::Help || !gates::may_echo(&shown) || !gates::may_echo(original) {
        return OWN_SUBJECT.to_owned();
    }
    if shown.starts_with("Re:") { shown } else { format!("Re: {shown}") }
}

/// The body of an acknowledgement.
pub(crate) const BODY: &str = texts::ACKNOWLEDGEMENT;

/// The line that operators get for every message (Inbox Watch, broadcast format). It names the sender, so it goes to
/// the topic only and into no log.
pub(crate) fn broadcast(message: &Incoming) -> String {
    let sender: String = customer_text::one_line(&message.sender).trim().chars().take(MOST).collect();
    format!("Incoming: from {sender} — subject: {}", customer_text::defused_line(&message.subject, MOST))
}

/// The line for a message whose details cannot be read.
pub(crate) const WITHOUT_DETAILS: &str = "Incoming: from (not known) — subject: (not known): look into the inbox";

#[cfg(test)]
mod tests {
    use super::*;

    fn message(sender: &str) -> Incoming {
        Incoming { sender: sender.into(), subject: "Hello".into(), conversation: None, headers: Vec::new() }
    }

    fn judged(message: &Incoming) -> Result<String, Unanswered> {
        let own = EmailAddress::parse("Box@example.org").unwrap();
        recipient(message, &own).map(|address| address.expose().to_owned())
    }

    /// Inbox Watch, V3 to V6.
    #[test]
    fn who_is_answered() {
        assert_eq!(judged(&message("user@example.com")), Ok("user@example.com".into()));
        for listed in SKIPPED.into_iter().chain(["NoReply@Stripe.com", "box@EXAMPLE.org"]) {
            assert_eq!(judged(&message(listed)), Err(Unanswered::Listed), "{listed}");
        }
        for guarded in ["no-reply@anything.com", "NO-REPLY@anything.com", "no-reply-7@anything.com"] {
            assert_eq!(judged(&message(guarded)), Err(Unanswered::NoReply), "{guarded}");
        }
        for other in ["noreply@anything.com", "someone.no-reply@anything.com"] {
            assert!(judged(&message(other)).is_ok(), "{other}: the guard is a prefix, as the spec has it");
        }
        for none in ["", "Jane Doe", "a@b, c@d", "/o=exchange/cn=x"] {
            assert_eq!(judged(&message(none)), Err(Unanswered::NoAddress), "{none:?}");
        }
    }

    #[test]
    fn machines_are_not_answered() {
        let with = |name: &str, value: &str| {
            judged(&Incoming { headers: vec![(name.into(), value.into())], ..message("user@example.com") })
        };
        for (name, value) in [
            ("Auto-Submitted", "auto-replied"),
            ("auto-submitted", "auto-generated; x=1"),
            ("X-Auto-Response-Suppress", "DR, AutoReply"),
            ("X-Auto-Response-Suppress", "All"),
            ("List-ID", "<news.example.com>"),
            ("Precedence", "Bulk"),
            ("Return-Path", "<>"),
        ] {
            assert_eq!(with(name, value), Err(Unanswered::Automatic), "{name}: {value}");
        }
        for (name, value) in
            [("Auto-Submitted", "no"), ("X-Auto-Response-Suppress", "DR"), ("Return-Path", "<user@example.com>")]
        {
            assert!(with(name, value).is_ok(), "{name}: {value}");
        }
        for sender in ["MAILER-DAEMON@example.com", "postmaster@example.com"] {
            assert_eq!(judged(&message(sender)), Err(Unanswered::Automatic), "{sender}");
        }
    }

    #[test]
    fn reports_of_mail_systems_are_no_other_automatic_messages() {
        let is_report = |sender: &str, name: &str, value: &str| {
            let message = Incoming { headers: vec![(name.into(), value.into())], ..message(sender) };
            assert_eq!(judged(&message), Err(Unanswered::Automatic), "{sender} {value}");
            is_delivery_report(&message)
        };
        let (exchange, buyer) = ("MicrosoftExchange329e71ec@example.com", "user@example.com");
        for value in [
            "multipart/report; report-type=delivery-status; boundary=\"x\"",
            "Multipart/Report; boundary=x; report-type=\"delivery-status\"",
        ] {
            assert!(is_report(exchange, "Content-Type", value), "{value}");
        }
        assert!(is_report("MAILER-DAEMON@example.com", "X-Other", "x"));
        assert!(!is_report(buyer, "Auto-Submitted", "auto-replied"), "an out-of-office reply");
        assert!(!is_report(buyer, "Return-Path", "<>"));
    }

    /// Inbox Watch, V9.
    #[test]
    fn a_subject_begins_with_re_once() {
        for (original, expected) in [
            ("Hello", "Re: Hello"),
            ("Re: Hello", "Re: Hello"),
            ("Re:Hello", "Re:Hello"),
            ("RE: Hello", "Re: RE: Hello"),
            ("re: Hello", "Re: re: Hello"),
            ("", "Re: "),
            ("Hi\r\nBcc: x@example.com", "Re: Hi Bcc: x[@]example[.]com"),
            ("Pay at https://evil.example\u{202e}", "Re: Pay at https[:]//evil[.]example"),
        ] {
            assert_eq!(subject(Kind::Acknowledgement, original), expected);
            assert_eq!(subject(Kind::Help, original), "Re: your message");
        }
        assert!(subject(Kind::Followup, &"x".repeat(5000)).chars().count() < 210);
    }

    /// Content filter, invariant 1: the sender's blocked words are not mailed back.
    #[test]
    fn a_subject_with_a_blocked_term_is_not_repeated() {
        for original in ["What is CSDM?", "Re: what does TMM mean", "Ask M\u{200b}NEMOS."] {
            for kind in [Kind::Acknowledgement, Kind::Followup] {
                assert_eq!(subject(kind, original), "Re: your message", "{original}");
            }
        }
    }

    #[test]
    fn a_broadcast_is_one_line_in_the_words_of_the_spec() {
        assert_eq!(broadcast(&message("user@example.com")), "Incoming: from user@example.com — subject: Hello");
        let odd = Incoming { subject: "a\nIncoming: from b\u{2028}c\u{202e}d".into(), ..message("x\ny") };
        assert_eq!(broadcast(&odd), "Incoming: from x y — subject: a Incoming: from b c d");
    }

    #[test]
    fn the_body_is_the_canonical_one() {
        assert_eq!(
            BODY,
            "Your inquiry has been received by the 42Sisters.AI Oracle. Expect a response within 24 hours. Thank you \
             for reaching out. — 42 Sisters AI · oracle@42sisters.ai"
        );
    }
}

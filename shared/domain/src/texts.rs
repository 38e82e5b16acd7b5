//! Sentences that customers read. Those with a citation are the specification's; the others are ours.
//!
//! The file has more than 300 lines because every sentence is one constant with its source.

/// The verdict cannot be produced (Verdict Pipeline FM-2; Gemini Timeout, retries exhausted).
pub const ANALYSIS_FAILED: &str = "Analysis failed. Please contact oracle@42sisters.ai for a refund.";

/// The verdict cannot be produced, and the money has gone back already: the customer need not ask for it.
pub const FAILED_AND_REFUNDED: &str = "Analysis failed. Your payment was returned.";

/// The verdict cannot be produced, and Stripe has not confirmed the refund that is decided: the customer need not ask for
/// it.
pub const FAILED_AND_RETURNED: &str = "Analysis failed. Your payment is returned automatically.";

/// The verdict cannot be produced, and the payment was disputed: the bank decides, so we cannot refund it.
pub const FAILED_AND_DISPUTED: &str =
    "Analysis failed. This payment was disputed, so your bank decides about the money.";

/// The verdict cannot be produced now (Gemini Timeout, circuit open).
pub const TEMPORARILY_UNAVAILABLE: &str = "Analysis temporarily unavailable. Please try again in a few minutes.";

/// The session was not paid, and can no longer be.
pub const NOT_PAID: &str = "This session was not paid. Please ask your question again on the front page.";

/// The session was not paid, and still can be: Stripe closes it after 24 hours.
pub const NOT_PAID_YET: &str =
    "This session has not been paid yet. Your question is kept for 24 hours after you asked it.";

/// There was nothing to pay, and no operator has given the verdict away (yet).
pub const NOTHING_TO_PAY: &str = "This session has not been paid.";

/// The customer finished the payment page, and the payment is not confirmed: it takes days. If Stripe does not say in time
/// that it failed, the customer's bank does.
pub const PAYMENT_IN_PROCESS: &str = "Your payment is not confirmed yet. With some payment methods this takes several \
    days. Your verdict appears here once it is confirmed. Please pay again only if your bank tells you that this \
    payment failed.";

/// The sale was erased at its customer's request.
pub const ERASED: &str = "As you asked, we have erased your verdict and your submission. There is nothing left to \
    show here.";

/// The verdict's model call failed and is retried automatically; the sale's page shows this.
pub const TRYING_AGAIN: &str = "The service that writes your verdict did not give a usable answer. We keep trying by \
    ourselves for up to four hours. You do not have to do anything and can close this page: the verdict appears here";

/// The end of [`TRYING_AGAIN`] if the order has an address.
pub const MAILED_WHEN_READY: &str = ", and we email it to you as soon as it is ready.";

/// Its end if the order has none.
pub const HERE_WHEN_READY: &str = " as soon as it is ready.";

/// A verdict is held, and no policy refunds its payment: the page shows this instead of its promise that the verdict is
/// delivered, or the payment refunded, within 24 hours.
pub const IN_REVIEW_WITHOUT_REFUND: &str = "Someone at 42 Sisters AI reads this verdict, and it appears on this page \
    as soon as they approve it. If you have it by email, you do not have to wait for them.";

/// Shown above a regenerated verdict that may differ from the mailed one: the spec's note (Regen Consistency,
/// tertiary output), with the last sentence made fit for a page.
pub const REGENERATED_NOTICE: &str = "NOTE: Due to a technical condition, the verdict on your results page may \
    differ slightly from the one you received by email. Both represent a valid coherence reading of your submission. \
    If you have questions, write to oracle@42sisters.ai and we will provide clarification.";

/// The subject of the mail about a diverging regeneration.
pub const DIVERGENCE_SUBJECT: &str = "A note about your 42 Sisters AI Verdict";

/// The mail about a diverging regeneration (Regen Consistency, tertiary output).
pub const DIVERGENCE_NOTE: &str = "NOTE: Due to a technical condition, the verdict on your results page may \
    differ slightly from the one you received by email. Both represent a valid coherence reading of your submission. \
    If you have questions, reply to this email and we will provide clarification.";

/// The subject of every verdict mail (Verdict Pipeline, outputs 3).
pub const VERDICT_MAIL_SUBJECT: &str = "Your 42 Sisters AI Verdict";

/// The subject of the silent-drop mail (Silent Drop, output 1).
pub const SILENT_DROP_SUBJECT: &str = "We received your payment — please reply with your question";

/// The body of the silent-drop mail (Silent Drop, output 1).
pub const SILENT_DROP_BODY: &str = "Hi there,

We received your payment but couldn't process your submission — something was missing from the session when it arrived on our end.

This is our error, not yours.

To get your Oracle verdict, please reply to this email with:
1. Your question or idea (the submission you intended to send)
2. The tier you selected: Quick Take ($1), Full Breakdown ($5), or Strategy Session ($25)

We'll process your verdict manually and send it within 24 hours at no additional charge.

If you'd prefer a refund instead, just say so in your reply — we'll process it immediately.

We're sorry for the friction. We hold ourselves to a higher standard.

— 42 Sisters AI
oracle@42sisters.ai
";

/// The subject of the mail about an automatic refund.
pub const REFUND_SUBJECT: &str = "Your payment has been refunded";

/// The body of the mail about an automatic refund. `{order}` is the sentence with the order's reference.
pub const REFUND_BODY: &str = "Hi there,

We could not give you a verdict, so we have refunded your payment in full. You don't have to do anything.

The money goes back to the card or account you paid with. Most banks show it within 5 to 10 business days.

If anything about this is unclear, just reply to this email. {order}

— 42 Sisters AI
oracle@42sisters.ai
";

/// The subject of the mail about a declined and refunded question. It names neither the reason nor the question, because
/// other people may see it on a locked screen.
pub const DECLINED_SUBJECT: &str = "About your question to 42 Sisters AI";

/// The part of that mail about the money.
pub const DECLINED_REFUND: &str =
    "We have refunded your payment in full. You don't have to do anything. The money goes \
    back to the card or account you paid with. Most banks show it within 5 to 10 business days.

If anything about this is unclear, just reply to this email.";

/// The end of that mail.
pub const SIGNATURE: &str = "— 42 Sisters AI
oracle@42sisters.ai
";

/// The body of the acknowledgement that a sender in the inbox gets (Inbox Watch, autoresponse body).
pub const ACKNOWLEDGEMENT: &str = "Your inquiry has been received by the 42Sisters.AI Oracle. Expect a response within \
    24 hours. Thank you for reaching out. — 42 Sisters AI · oracle@42sisters.ai";

/// The answer to a possible disclosure of self-harm: the specification's text (Authority Governance, Appendix F, "Minor
/// Self-Harm Signal"), with the resources of the evaluation in place of its US ones. Contains no sales language.
pub const CRISIS: &str = "I hear that you're going through something really hard. These feelings are serious, and you \
                      deserve support right now. Please reach out to one of these. If you're in immediate danger, \
                      please call your local emergency number.";

/// The answer to a question that describes an emergency. The numbers to call follow it, and no other advice.
pub const EMERGENCY: &str = "This may be an emergency. Please call one of these numbers now; do not wait for an answer \
                             from us. We give no verdict on it.";

/// A question that the authority gate blocks after payment.
pub const DECLINED: &str = "We do not give a verdict on this question, because it could do harm. Please ask a person \
                            who knows your whole situation.";

/// A question that the authority gate declines after payment, because facts are missing.
pub const DECLINED_INCOMPLETE: &str = "Your question leaves out facts that an answer depends on, so we do not give a \
                                       verdict.";

/// A question that the authority gate declines after payment, because only an official source can confirm its facts.
pub const DECLINED_UNVERIFIED: &str = "This needs facts that only an official source can confirm, so we do not give a \
                                       verdict.";

/// A text that the authority gate declines after payment, because it contains no question.
pub const DECLINED_UNREADABLE: &str = "We cannot find a question in your text, so we do not give a verdict.";

/// Added to the sentence of a declined question before the refund is confirmed, and to the mail after a possible disclosure
/// of self-harm.
pub const MONEY_GOES_BACK: &str = "Your payment is returned automatically.";

/// Added to it while people may still allow an answer.
pub const MONEY_IF_NOT_ALLOWED: &str = "A qualified person may still allow an answer within 24 hours. If nobody does, \
    your payment is returned automatically.";

/// Added to it after the refund is confirmed.
pub const MONEY_IS_BACK: &str = "Your payment was returned.";

/// Added to it while the payment is disputed, or after the dispute was lost.
pub const MONEY_DISPUTED: &str = "This payment was disputed, so your bank decides about the money.";

/// The answer to a follow-up by mail that is ordered.
pub const FOLLOWUP_ORDERED: &str = "Thank you: we have your follow-up. Its verdict comes to this address and appears \
    on your result page. — 42 Sisters AI · oracle@42sisters.ai";

/// The answer to a second follow-up by mail.
pub const FOLLOWUP_USED: &str = "Thank you for writing back. Your Strategy Session includes one follow-up, and it is \
    used, so this message gets no verdict. A person reads it all the same: expect a response within 24 hours. \
    — 42 Sisters AI · oracle@42sisters.ai";

/// The end of the answer to a follow-up by mail that the authority gate declines.
pub const FOLLOWUP_NOT_USED: &str = "Your follow-up is still yours to use: ask it on your result page, or reply with the \
    whole question and a question mark. — 42 Sisters AI · oracle@42sisters.ai";

/// The subject of the mail with the sign-in link to the chat.
pub const CHAT_LINK_SUBJECT: &str = "Your link to sign in to the Sisters Chat";

/// The body of that mail.
pub const CHAT_LINK_BODY: &str = "Hi there,

Open this link in the browser in which you asked for it to sign in to the Sisters Chat:

{link}

It works once, for ten minutes. If you did not ask for it, you can ignore this mail: nobody is signed in without it.

— AETHER, 42 Sisters AI · oracle@42sisters.ai";

/// Replaces a reply that could not be made.
pub const CHAT_APOLOGY: &str = "I am sorry: I could not find an answer that I can stand behind. This one does not count. \
    Please ask again, perhaps in other words.";

/// The answer to the fourth exchange without a subscription.
pub const CHAT_OFFER: &str = "You have used your three free exchanges. Subscribe to the Sisters Chat to go on.";

/// The subject of the mail with an operator's reply on the Bridge.
pub const BRIDGE_REPLY_SUBJECT: &str = "A reply for you on the Bridge";

/// Its body.
pub const BRIDGE_REPLY_BODY: &str = "Hi there,

We have answered you on the Bridge:

{reply}

You can answer by replying to this email from this address, or on the page, where the whole thread is: {link}

This message is confidential under the agreement that you accepted.

— 42 Sisters AI · oracle@42sisters.ai";

/// The body of such a mail after the access to the Bridge has ended.
pub const BRIDGE_LAST_REPLY_BODY: &str = "Hi there,

We have answered you on the Bridge:

{reply}

Your access to the Bridge has ended, so nothing can be added to the thread. To ask for access again, reply to this email. The thread is here: {link}

This message is confidential under the agreement that you accepted.

— 42 Sisters AI · oracle@42sisters.ai";

/// The subject of the mail about a grant of access to the Bridge.
pub const BRIDGE_GRANTED_SUBJECT: &str = "You have access to the Bridge";

/// Its body.
pub const BRIDGE_GRANTED_BODY: &str = "Hi there,

You have access to the Bridge until {until}. You can write to us here: {link}

We answer within 24 hours, on that page and by email, and you can reply to those emails. Everything on the Bridge is confidential under the agreement that you accepted.

— 42 Sisters AI · oracle@42sisters.ai";

/// The subject of the mail about the expiry of a grant.
pub const BRIDGE_EXPIRED_SUBJECT: &str = "Your access to the Bridge has ended";

/// Its body.
pub const BRIDGE_EXPIRED_BODY: &str = "Hi there,

Your access to the Bridge ended at its planned time, {until}. No more messages can be added, and you can still read the thread here: {link}

If you want access again, just reply to this email.

— 42 Sisters AI · oracle@42sisters.ai";

/// The subject of the mail about a revocation.
pub const BRIDGE_REVOKED_SUBJECT: &str = "Your access to the Bridge has ended";

/// Its body.
pub const BRIDGE_REVOKED_BODY: &str = "Hi there,

We have ended your access to the Bridge. No more messages can be added, and you can still read the thread here: {link}

If you have questions, just reply to this email.

— 42 Sisters AI · oracle@42sisters.ai";

/// The subject of the mail about a declined access to the Bridge.
pub const BRIDGE_DECLINED_SUBJECT: &str = "About your access to the Bridge";

/// Its body.
pub const BRIDGE_DECLINED_BODY: &str = "Hi there,

You accepted the agreement of the Bridge. We have decided not to give you access to it. Nothing else changes for you.

If you have questions, just reply to this email.

— 42 Sisters AI · oracle@42sisters.ai";

/// Every text here that a mail contains. No line of a customer's words may begin like a line of these; the mail
/// renderer's tests check it.
pub const MAILED: [&str; 34] = [
    ACKNOWLEDGEMENT,
    FOLLOWUP_ORDERED,
    FOLLOWUP_USED,
    FOLLOWUP_NOT_USED,
    VERDICT_MAIL_SUBJECT,
    DIVERGENCE_SUBJECT,
    DIVERGENCE_NOTE,
    SILENT_DROP_SUBJECT,
    SILENT_DROP_BODY,
    REFUND_SUBJECT,
    REFUND_BODY,
    CRISIS,
    EMERGENCY,
    DECLINED,
    DECLINED_INCOMPLETE,
    DECLINED_UNVERIFIED,
    DECLINED_UNREADABLE,
    DECLINED_SUBJECT,
    DECLINED_REFUND,
    MONEY_GOES_BACK,
    SIGNATURE,
    CHAT_LINK_SUBJECT,
    CHAT_LINK_BODY,
    BRIDGE_REPLY_SUBJECT,
    BRIDGE_REPLY_BODY,
    BRIDGE_LAST_REPLY_BODY,
    BRIDGE_GRANTED_SUBJECT,
    BRIDGE_GRANTED_BODY,
    BRIDGE_EXPIRED_SUBJECT,
    BRIDGE_EXPIRED_BODY,
    BRIDGE_REVOKED_SUBJECT,
    BRIDGE_REVOKED_BODY,
    BRIDGE_DECLINED_SUBJECT,
    BRIDGE_DECLINED_BODY,
];

#[cfg(test)]
mod tests {
    use super::*;

    /// The texts of pages and of the chat, which are not mailed.
    const SHOWN: [&str; 20] = [
        ANALYSIS_FAILED,
        FAILED_AND_REFUNDED,
        FAILED_AND_RETURNED,
        FAILED_AND_DISPUTED,
        TEMPORARILY_UNAVAILABLE,
        NOT_PAID,
        NOT_PAID_YET,
        NOTHING_TO_PAY,
        PAYMENT_IN_PROCESS,
        ERASED,
        TRYING_AGAIN,
        MAILED_WHEN_READY,
        HERE_WHEN_READY,
        IN_REVIEW_WITHOUT_REFUND,
        REGENERATED_NOTICE,
        MONEY_IS_BACK,
        MONEY_IF_NOT_ALLOWED,
        MONEY_DISPUTED,
        CHAT_APOLOGY,
        CHAT_OFFER,
    ];

    #[test]
    fn every_text_is_listed_as_mailed_or_as_shown() {
        let defined =
            include_str!("texts.rs").lines().filter(|line| line.starts_with("pub const ") && line.contains(": &str ="));
        let mut listed = [&MAILED[..], &SHOWN[..]].concat();
        assert_eq!(defined.count(), listed.len(), "list a new text in MAILED, or in SHOWN if no mail contains it");
        listed.sort_unstable();
        listed.dedup();
        // The two subjects about an access that has ended are the same text.
        assert_eq!(listed.len() + 1, MAILED.len() + SHOWN.len());
    }
}

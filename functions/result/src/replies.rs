//! The replies of GET /api/verdict that carry no verdict.

use crate::asked::Unpaid;
use domain::{Sale, money::Money, sale::Declined, texts};
use runtime::http::Reply;
use serde_json::json;

/// The seconds after which the page asks again.
const RETRY_AFTER: &str = "2";

/// The field with the time of the refund.
pub(crate) const REFUNDED_AT: &str = "refunded_at";

/// The reply is the same for unknown ids and for those of sessions that are not ours.
pub(crate) fn not_found() -> Reply {
    Reply::error(404, "not_found", "There is no such session.")
}

pub(crate) fn pending() -> Reply {
    Reply::json(202, &json!({ "status": "pending" })).header("retry-after", RETRY_AFTER)
}

pub(crate) fn in_review() -> Reply {
    Reply::json(202, &json!({ "status": "in_review" }))
}

/// The reply for an unpaid session.
pub(crate) fn unpaid(why: &Unpaid) -> Reply {
    match why {
        Unpaid::Open(address) => {
            Reply::json(402, &json!({ "error": texts::NOT_PAID_YET, "code": "unpaid", "payment_url": address }))
        }
        // The page asks again: the customer can do nothing but wait.
        Unpaid::InProcess => {
            Reply::error(402, "payment_in_process", texts::PAYMENT_IN_PROCESS).header("retry-after", "60")
        }
        Unpaid::Closed => Reply::error(402, "unpaid", texts::NOT_PAID),
    }
}

/// The reply while a client is guessing ids. A customer whose sale is not in our store yet gets through within a minute.
pub(crate) fn busy() -> Reply {
    Reply::error(429, "busy", "Too many requests at the moment. This page asks again by itself.")
        .header("retry-after", "20")
}

pub(crate) fn erased() -> Reply {
    Reply::error(410, "erased", texts::ERASED)
}

/// The reply for a sale that ended without a verdict. It tells the customer to ask for a refund only while nobody has decided
/// about the money.
pub(crate) fn failed(money: &Money) -> Reply {
    match money {
        Money::Refunded { at } => {
            Reply::json(500, &json!({ "error": texts::FAILED_AND_REFUNDED, REFUNDED_AT: at.to_iso() }))
        }
        // The page asks again, until it can show the date of the refund.
        Money::RefundAuthorised { .. } => {
            Reply::json(500, &json!({ "error": texts::FAILED_AND_RETURNED })).header("retry-after", "60")
        }
        Money::Disputed { .. } => Reply::json(500, &json!({ "error": texts::FAILED_AND_DISPUTED })),
        Money::Kept | Money::RefundFailed { .. } => Reply::json(500, &json!({ "error": texts::ANALYSIS_FAILED })),
    }
}

/// The reply for a question that the authority gate declines after payment: helpers, alternatives, and the refund. A
/// possible disclosure of self-harm gets no word about money.
pub(crate) fn declined(declined: &Declined, sale: &Sale) -> Reply {
    let sentence = match (declined.sentence(), sale.money()) {
        // A follow-up has no money of its own: its session paid for a verdict that was delivered.
        (sentence, _) if declined.is_crisis || sale.is_followup() => sentence.to_owned(),
        (sentence, Money::Refunded { .. }) => format!("{sentence} {}", texts::MONEY_IS_BACK),
        (sentence, _) => format!("{sentence} {}", texts::MONEY_GOES_BACK),
    };
    let mut body = json!({
        "error": sentence,
        "code": "declined",
        "resources": declined.helpers,
        "suggested_actions": declined.advice,
        "crisis": declined.is_crisis,
    });
    if let Some(at) = sale.refunded_at().filter(|_| !declined.is_crisis) {
        body[REFUNDED_AT] = at.to_iso().into();
    }
    Reply::json(422, &body)
}

pub(crate) fn temporarily_unavailable() -> Reply {
    Reply::json(503, &json!({ "error": texts::TEMPORARILY_UNAVAILABLE })).header("retry-after", "30")
}

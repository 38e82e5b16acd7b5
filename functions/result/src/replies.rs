//! What GET /api/verdict shows of a sale, and its replies that carry no verdict.

use crate::recent_answers::Unpaid;
use domain::{Sale, money::Money, sale::Declined, texts};
use runtime::http::Reply;
use serde_json::{Map, Value, json};

/// The seconds after which the page asks again.
const RETRY_AFTER: &str = "2";

/// The field with the time of the refund.
pub(crate) const REFUNDED_AT: &str = "refunded_at";

/// What GET /api/verdict shows of a sale. A follow-up's is shown with the verdict that it follows.
#[derive(Debug)]
pub(crate) enum Shown {
    /// The fields of the reply about a delivered verdict.
    Delivered(Map<String, Value>),
    /// A human decides about the verdict.
    InReview(Reply),
    /// There is no verdict. The sentence says that the payment is refunded, will be refunded, or is disputed; the sale
    /// is then on no operator's list.
    Failed(Reply, Option<&'static str>),
    /// The fields about a question that is declined, and whether people may still allow it.
    Declined(Value, bool),
    /// Any other reply, with the sentence about a failed attempt. A follow-up is then pending.
    Other(Reply, Option<String>),
}

impl From<Reply> for Shown {
    fn from(reply: Reply) -> Self {
        Self::Other(reply, None)
    }
}

impl Shown {
    /// The reply about a sale of its own.
    pub(crate) fn into_reply(self) -> Reply {
        match self {
            Self::Delivered(fields) => Reply::json(200, &Value::Object(fields)),
            // The page asks again: an approval orders the verdict.
            Self::Declined(fields, true) => Reply::json(422, &fields).header("retry-after", "60"),
            Self::Declined(fields, false) => Reply::json(422, &fields),
            Self::InReview(reply) | Self::Failed(reply, _) | Self::Other(reply, _) => reply,
        }
    }
}

/// The reply is the same for unknown ids and for those of sessions that are not ours.
pub(crate) fn not_found() -> Reply {
    Reply::error(404, "not_found", "There is no such session.")
}

pub(crate) fn pending() -> Shown {
    Reply::json(202, &json!({ "status": "pending" })).header("retry-after", RETRY_AFTER).into()
}

pub(crate) fn in_review(sale: &Sale) -> Shown {
    let mut body = json!({ "status": "in_review" });
    // The page's own sentence promises that the verdict is delivered, or the payment refunded, within 24 hours.
    if !sale.gives_money_back() {
        body["message"] = texts::IN_REVIEW_WITHOUT_REFUND.into();
    }
    Shown::InReview(Reply::json(202, &body))
}

/// The reply for an unpaid session.
pub(crate) fn unpaid(why: &Unpaid) -> Shown {
    let reply = match why {
        // The page asks again: the customer may pay in another tab.
        Unpaid::Open(address) => {
            Reply::json(402, &json!({ "error": texts::NOT_PAID_YET, "code": "unpaid", "payment_url": address }))
                .header("retry-after", "60")
        }
        // The page asks again: the customer can do nothing but wait.
        Unpaid::InProcess => {
            Reply::error(402, "payment_in_process", texts::PAYMENT_IN_PROCESS).header("retry-after", "60")
        }
        Unpaid::Free => Reply::error(402, "no_payment_required", texts::NOTHING_TO_PAY),
        Unpaid::Closed => Reply::error(402, "unpaid", texts::NOT_PAID),
    };
    reply.into()
}

/// The reply while a client is guessing ids. A customer whose sale is not in our store yet gets through within a minute.
pub(crate) fn busy() -> Shown {
    Reply::error(429, "busy", "Too many requests at the moment.").header("retry-after", "20").into()
}

pub(crate) fn erased() -> Reply {
    Reply::error(410, "erased", texts::ERASED)
}

/// The reply for a sale that ended without a verdict. It tells the customer to ask for a refund, unless one is decided or the
/// payment is disputed.
pub(crate) fn failed(money: &Money) -> Shown {
    let sentence = match money {
        Money::Refunded { .. } => Some(texts::FAILED_AND_REFUNDED),
        Money::RefundAuthorised { .. } => Some(texts::FAILED_AND_RETURNED),
        Money::Disputed { .. } => Some(texts::FAILED_AND_DISPUTED),
        Money::Kept | Money::RefundFailed { .. } => None,
    };
    let mut body = json!({ "error": sentence.unwrap_or(texts::ANALYSIS_FAILED) });
    if let Money::Refunded { at } = money {
        body[REFUNDED_AT] = at.to_iso().into();
    }
    let reply = Reply::json(500, &body);
    // The page asks again, until it can show the date of the refund.
    let asks_again = matches!(money, Money::RefundAuthorised { .. });
    Shown::Failed(if asks_again { reply.header("retry-after", "60") } else { reply }, sentence)
}

/// The reply for a paid session without a usable tier or question. Its code makes the page ask for them, as the mail
/// does.
pub(crate) fn unusable() -> Shown {
    Shown::Failed(Reply::error(500, "unusable", texts::ANALYSIS_FAILED), None)
}

/// The reply for a question that the authority gate declines after payment: helpers, alternatives, and the refund. A
/// possible disclosure of self-harm gets no word about money.
pub(crate) fn declined(declined: &Declined, sale: &Sale) -> Shown {
    let may_be_allowed = declined.is_for_humans() && sale.is_money_kept() && !sale.is_followup();
    let sentence = match (declined.sentence(), sale.money()) {
        // A follow-up has no money of its own: its session paid for a verdict that was delivered.
        (sentence, _) if declined.is_crisis || sale.is_followup() => sentence.to_owned(),
        (sentence, Money::Refunded { .. }) => format!("{sentence} {}", texts::MONEY_IS_BACK),
        (sentence, Money::Disputed { .. }) => format!("{sentence} {}", texts::MONEY_DISPUTED),
        (sentence, Money::RefundAuthorised { .. }) => format!("{sentence} {}", texts::MONEY_GOES_BACK),
        // No policy returns a payment: a verdict that was given away has none, and a customer who has a verdict by mail
        // keeps it.
        (sentence, _) if !sale.gives_money_back() => sentence.to_owned(),
        (sentence, _) if may_be_allowed => format!("{sentence} {}", texts::MONEY_IF_NOT_ALLOWED),
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
    Shown::Declined(body, may_be_allowed)
}

pub(crate) fn temporarily_unavailable() -> Reply {
    Reply::json(503, &json!({ "error": texts::TEMPORARILY_UNAVAILABLE })).header("retry-after", "30")
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{
        SessionId, Timestamp,
        money::Authorisation,
        sale::{Helper, HumanLock},
    };
    use testkit::sale::WithField;

    fn description() -> Value {
        serde_json::from_str(crate::OPENAPI).unwrap()
    }

    fn decision(lock: HumanLock) -> Declined {
        Declined {
            state: domain::authority_state::State::Blocked,
            reason: "high_stakes".to_owned(),
            domain: "medicine".to_owned(),
            lock,
            helpers: vec![Helper { name: "A physician".to_owned(), contact: "911".to_owned() }],
            advice: vec!["Ask a physician.".to_owned()],
            is_crisis: false,
            is_emergency: false,
            at: Timestamp::from_seconds(0),
            approvals: Vec::new(),
            approved_at: None,
        }
    }

    fn sale_with(money: Money) -> Sale {
        Sale::ordered(SessionId::parse("cs_test_1").unwrap(), Timestamp::from_seconds(0)).with("money", money)
    }

    fn declined_reply(money: Money, lock: HumanLock) -> Reply {
        declined(&decision(lock), &sale_with(money)).into_reply()
    }

    fn people() -> HumanLock {
        HumanLock::People { persons: 1, roles: vec!["physician".to_owned()], sources: Vec::new() }
    }

    #[test]
    fn the_description_has_the_status_of_every_reply_and_its_wait() {
        let document = description();
        let responses = &document["paths"]["/api/verdict"]["get"]["responses"];
        let at = Timestamp::from_seconds(0);
        let authorisation = Authorisation::parse("alex", "asked for it").unwrap();
        for shown in [
            pending(),
            not_found().into(),
            in_review(&sale_with(Money::Kept)),
            unpaid(&Unpaid::Open("https://pay.example".to_owned())),
            unpaid(&Unpaid::InProcess),
            unpaid(&Unpaid::Free),
            unpaid(&Unpaid::Closed),
            busy(),
            erased().into(),
            failed(&Money::Kept),
            unusable(),
            failed(&Money::RefundAuthorised { authorisation, at }),
            declined(&decision(people()), &sale_with(Money::Kept)),
            temporarily_unavailable().into(),
        ] {
            let reply = shown.into_reply();
            let response = &responses[reply.status().to_string()];
            let shared = response["$ref"].as_str().and_then(|path| document.pointer(path.trim_start_matches('#')));
            let described = shared.unwrap_or(response);
            assert!(described.is_object(), "{} {}", reply.status(), reply.body());
            let has_wait = described["headers"]["Retry-After"].is_object();
            assert!(has_wait || reply.header_value("retry-after").is_none(), "{} {}", reply.status(), reply.body());
        }
    }

    /// A page whose answer may still change asks again; the others wait for their reader.
    #[test]
    fn the_page_asks_again_where_a_payment_may_still_come() {
        for (why, asks_again) in [
            (Unpaid::Open("https://pay.example".to_owned()), true),
            (Unpaid::InProcess, true),
            (Unpaid::Free, false),
            (Unpaid::Closed, false),
        ] {
            let reply = unpaid(&why).into_reply();
            assert_eq!(reply.header_value("retry-after").is_some(), asks_again, "{why:?}");
        }
    }

    #[test]
    fn a_declined_question_says_what_becomes_of_the_money() {
        let at = Timestamp::from_seconds(0);
        let authorisation = Authorisation::parse("policy p", "nobody allowed it").unwrap();
        for (money, lock, sentence) in [
            (Money::Kept, HumanLock::Nobody, texts::MONEY_GOES_BACK),
            (Money::Kept, people(), texts::MONEY_IF_NOT_ALLOWED),
            (Money::RefundAuthorised { authorisation, at }, people(), texts::MONEY_GOES_BACK),
            (Money::Refunded { at }, people(), texts::MONEY_IS_BACK),
            (Money::Disputed { at, refund: None, bounced: false }, people(), texts::MONEY_DISPUTED),
        ] {
            let reply = declined_reply(money, lock);
            let body: Value = serde_json::from_str(reply.body()).unwrap();
            assert_eq!(body["error"], format!("{} {sentence}", texts::DECLINED));
            let asks_again = sentence == texts::MONEY_IF_NOT_ALLOWED;
            assert_eq!(reply.header_value("retry-after").is_some(), asks_again, "{sentence}");
        }
        let sent = domain::mail::Mail::Sent { at };
        let (given, served) =
            (sale_with(Money::Kept).with("given", true), sale_with(Money::Kept).with("mail", sent.clone()));
        for (sale, lock) in
            [(&given, HumanLock::Nobody), (&given, people()), (&served, HumanLock::Nobody), (&served, people())]
        {
            let body: Value = serde_json::from_str(declined(&decision(lock), sale).into_reply().body()).unwrap();
            assert_eq!(body["error"], texts::DECLINED, "no money, or a human decides about it");
        }
        let authorisation = Authorisation::parse("alex", "asked for it").unwrap();
        let decided = sale_with(Money::RefundAuthorised { authorisation, at }).with("mail", sent);
        let body: Value = serde_json::from_str(declined(&decision(people()), &decided).into_reply().body()).unwrap();
        assert_eq!(body["error"], format!("{} {}", texts::DECLINED, texts::MONEY_GOES_BACK));
    }

    /// A follow-up's money is its session's.
    #[test]
    fn a_review_promises_no_refund_where_no_policy_makes_one() {
        let at = Timestamp::from_seconds(0);
        let kept = || sale_with(Money::Kept);
        let cases = [
            (kept(), false),
            (kept().with("mail", domain::mail::Mail::Sent { at }), true),
            (kept().with("given", true), true),
            (sale_with(Money::Disputed { at, refund: None, bounced: false }), true),
            (Sale::ordered(SessionId::parse("cs_test_1").unwrap().followup(), at), true),
        ];
        for (sale, has_message) in cases {
            let body: Value = serde_json::from_str(in_review(&sale).into_reply().body()).unwrap();
            let message = has_message.then_some(texts::IN_REVIEW_WITHOUT_REFUND);
            assert_eq!((body["status"].as_str(), body["message"].as_str()), (Some("in_review"), message), "{sale:?}");
        }
    }

    #[test]
    fn the_description_has_the_fields_of_a_declined_question() {
        let document = description();
        let schema = &document["components"]["schemas"]["Declined"];
        let refunded = Money::Refunded { at: Timestamp::from_seconds(0) };
        let body: Value = serde_json::from_str(declined_reply(refunded, HumanLock::Nobody).body()).unwrap();
        let body = body.as_object().unwrap();
        assert!(body.keys().eq(schema["properties"].as_object().unwrap().keys()), "{body:?}");
        assert_eq!(body["code"], schema["properties"]["code"]["const"]);
        assert!(schema["required"].as_array().unwrap().iter().all(|name| body.contains_key(name.as_str().unwrap())));
    }
}

//! Finds completed sessions by a customer's data: an address, the last digits of a card, an amount, a day. For
//! operators; nothing of it is stored.

use crate::{
    Client, LazyClient,
    ledger::{SESSIONS, completed_page},
    reply::CallError,
    transport::{Call, Expected},
};
use domain::{
    CheckoutSession, EmailAddress, Timestamp,
    money::PaymentId,
    ports::{CompletedSessions, Ledger, PaymentError},
};
use serde_json::Value;

/// The most pages of a hundred sessions that one search reads.
const MOST_PAGES: usize = 50;

/// The last four digits of a card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastDigits(String);

impl LastDigits {
    /// Four digits.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let valid = text.len() == 4 && text.bytes().all(|byte| byte.is_ascii_digit());
        valid.then(|| Self(text.to_owned()))
    }
}

/// The search criteria. A session has to meet all of them.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The address that the customer entered at the checkout.
    pub email: Option<EmailAddress>,
    /// The last digits of the card.
    pub last4: Option<LastDigits>,
    /// The amount charged, in the currency's smallest unit.
    pub amount: Option<i64>,
    /// The earliest time of its creation.
    pub since: Timestamp,
}

/// The result of a search.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Completed sessions, newest first: paid, or with nothing to pay.
    pub sessions: Vec<CheckoutSession>,
    /// Whether there are more sessions than one search reads. Of the older ones it then has only those whose address is
    /// spelled exactly as in the criteria.
    pub more: bool,
}

impl Wanted {
    /// Whether a session meets the criteria. Addresses are compared regardless of case.
    fn is_met_by(&self, session: &CheckoutSession) -> bool {
        let same_address = |email: &EmailAddress| {
            session.email.as_ref().is_some_and(|found| found.expose().eq_ignore_ascii_case(email.expose()))
        };
        self.email.as_ref().is_none_or(same_address)
            && self.amount.is_none_or(|amount| session.amount_total == Some(amount))
            && session.created.is_none_or(|created| created >= self.since)
    }
}

impl LazyClient {
    /// The completed sessions that meet the criteria.
    ///
    /// # Errors
    /// [`PaymentError`].
    pub async fn find(&self, wanted: &Wanted) -> Result<Found, PaymentError> {
        self.client.get().await?.find(wanted).await
    }
}

impl Client {
    /// The completed sessions that meet the criteria.
    ///
    /// # Errors
    /// [`PaymentError`].
    pub async fn find(&self, wanted: &Wanted) -> Result<Found, PaymentError> {
        if let Some(digits) = &wanted.last4 {
            return self.by_card(digits, wanted).await;
        }
        let exact = match &wanted.email {
            Some(email) => self.listed(wanted, &[("customer_details[email]", email.expose())]).await?,
            None => Found::default(),
        };
        // Stripe compares addresses by case, and the same customer may have entered another one in capitals.
        let mut found = self.listed(wanted, &[]).await?;
        let is_new = |session: &CheckoutSession| found.sessions.iter().all(|known| known.id != session.id);
        let older: Vec<CheckoutSession> = exact.sessions.into_iter().filter(is_new).collect();
        found.sessions.extend(older);
        found.more |= exact.more;
        Ok(found)
    }

    async fn listed(&self, wanted: &Wanted, filter: &[(&str, &str)]) -> Result<Found, PaymentError> {
        let since = wanted.since.as_seconds().to_string();
        let (mut found, mut from) = (Found::default(), None::<String>);
        for _ in 0..MOST_PAGES {
            let mut query = vec![("created[gte]", since.as_str()), ("status", "complete"), ("limit", "100")];
            query.extend_from_slice(filter);
            query.extend(from.as_deref().map(|last| ("starting_after", last)));
            let call = Call::Get { path: SESSIONS.to_owned(), query: &query, expected: Expected::Page };
            let CompletedSessions { sessions, next } = completed_page(&self.transport.call(&call).await?)?;
            // Also those with nothing to pay, whose verdicts an operator may give away.
            found.sessions.extend(sessions.into_iter().filter(|session| wanted.is_met_by(session)));
            from = next;
            if from.is_none() {
                return Ok(found);
            }
        }
        Ok(Found { more: true, ..found })
    }

    /// Finds sessions by card with Stripe's search; each payment that it finds leads to its session.
    async fn by_card(&self, digits: &LastDigits, wanted: &Wanted) -> Result<Found, PaymentError> {
        let (since, last4) = (wanted.since.as_seconds(), &digits.0);
        let mut search =
            format!("payment_method_details.card.last4:'{last4}' AND status:'succeeded' AND created>={since}");
        if let Some(amount) = wanted.amount {
            search.push_str(&format!(" AND amount:{amount}"));
        }
        let (mut found, mut from) = (Found::default(), None::<String>);
        for _ in 0..MOST_PAGES {
            let mut query = vec![("query", search.as_str()), ("limit", "100")];
            query.extend(from.as_deref().map(|page| ("page", page)));
            let path = "/v1/charges/search".to_owned();
            let reply = self.transport.call(&Call::Get { path, query: &query, expected: Expected::Page }).await?;
            for payment in payments(&reply)? {
                let session = self.session_of(&payment).await?;
                found.sessions.extend(session.filter(|session| session.is_paid() && wanted.is_met_by(session)));
            }
            from = reply["next_page"].as_str().filter(|_| reply["has_more"] == true).map(str::to_owned);
            if from.is_none() {
                return Ok(found);
            }
        }
        Ok(Found { more: true, ..found })
    }
}

/// The payments of found charges; a charge without a payment intent is not ours.
fn payments(reply: &Value) -> Result<Vec<PaymentId>, CallError> {
    let charges = reply["data"].as_array().ok_or(CallError::Unexpected("no list of charges"))?;
    Ok(charges.iter().filter_map(|charge| PaymentId::parse(charge["payment_intent"].as_str()?).ok()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn session(email: &str, amount: i64, created: i64) -> CheckoutSession {
        crate::session::parse(&json!({
            "id": "cs_test_1", "payment_status": "paid", "amount_total": amount, "created": created,
            "customer_details": { "email": email },
        }))
        .unwrap()
    }

    #[test]
    fn all_that_is_known_must_be_true() {
        let wanted = Wanted {
            email: EmailAddress::parse("Buyer@Example.com").ok(),
            last4: None,
            amount: Some(500),
            since: Timestamp::from_seconds(100),
        };
        assert!(wanted.is_met_by(&session("buyer@example.com", 500, 100)));
        assert!(!wanted.is_met_by(&session("other@example.com", 500, 100)));
        assert!(!wanted.is_met_by(&session("buyer@example.com", 100, 100)));
        assert!(!wanted.is_met_by(&session("buyer@example.com", 500, 99)));
        assert!(LastDigits::parse("4242").is_some() && LastDigits::parse("42'2").is_none());
    }
}

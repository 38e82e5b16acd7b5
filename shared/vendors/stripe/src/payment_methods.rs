//! How late a payment method can pay, which decides how far back the daily comparison reaches.

use serde_json::Value;
use std::time::Duration;

/// The methods that confirm a payment days after the purchase, with Stripe's longest time in days for each: until the
/// payment has certainly succeeded or failed.
const DAYS: [(&str, u64); 12] = [
    ("acss_debit", 15),
    ("au_becs_debit", 7),
    ("bacs_debit", 10),
    ("boleto", 10),
    ("customer_balance", 30),
    ("konbini", 14),
    ("multibanco", 10),
    ("nz_bank_account", 7),
    ("oxxo", 10),
    ("sepa_debit", 14),
    ("sofort", 14),
    ("us_bank_account", 10),
];

/// The days after its creation in which a session can be paid with any method.
const SESSION_DAYS: u64 = 1;

/// The longest time of the methods that one of these configurations has enabled.
pub(crate) fn slowest(configurations: &[Value]) -> Duration {
    let on = |method: &str| {
        let is_on = |configuration: &&Value| {
            let method = &configuration[method];
            configuration["active"] != false
                && method["available"] != false
                && method["display_preference"]["value"] == "on"
        };
        configurations.iter().any(|configuration| is_on(&configuration))
    };
    let slowest = DAYS.iter().filter(|(method, _)| on(method)).map(|(_, days)| *days).max();
    Duration::from_secs((slowest.unwrap_or_default() + SESSION_DAYS) * 24 * 3600)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_what_is_switched_on_counts_and_the_slowest_decides() {
        let method = |value: &str| json!({ "available": true, "display_preference": { "value": value } });
        let days = |configurations: &[Value]| slowest(configurations).as_secs() / 86_400;
        let cards = json!({ "active": true, "card": method("on"), "acss_debit": method("off") });
        assert_eq!(days(std::slice::from_ref(&cards)), 1);
        let debit = json!({ "active": true, "sepa_debit": method("on"), "acss_debit": method("on") });
        assert_eq!(days(&[cards.clone(), debit.clone()]), 16);
        let mut inactive = debit.clone();
        inactive["active"] = json!(false);
        assert_eq!(days(&[cards, inactive]), 1);
        let mut unavailable = debit;
        unavailable["acss_debit"]["available"] = json!(false);
        assert_eq!(days(&[unavailable]), 15);
    }
}

//! The forms that create a Checkout Session: plain pairs, encoded by the HTTP client.

use domain::{Tier, ports::NewCheckoutSession, smoke, tier::CURRENCY};

/// The pairs, in a fixed order: Stripe refuses other parameters with the same idempotency key.
pub(crate) fn checkout(new: &NewCheckoutSession, site: &str) -> Vec<(String, String)> {
    let mut pairs = one_item(new.tier, site);
    let chunks = new.query.to_metadata().into_iter();
    pairs.extend(chunks.map(|(name, value)| (format!("metadata[{name}]"), value)));
    if let Some(code) = &new.promotion_code {
        pairs.push(("discounts[0][promotion_code]".to_owned(), code.clone()));
    }
    pairs
}

/// The smoke test's pairs: everything in them is fixed (Smoke Test, stage 4).
pub(crate) fn smoke(site: &str) -> Vec<(String, String)> {
    let mut pairs = one_item(smoke::TIER, site);
    let (mark, set) = smoke::MARK;
    let fixed = [
        ("metadata[q0]".to_owned(), smoke::QUERY),
        ("metadata[qn]".to_owned(), "1"),
        (format!("metadata[{mark}]"), set),
        (format!("payment_intent_data[metadata][{mark}]"), set),
        ("customer_email".to_owned(), smoke::EMAIL),
    ];
    pairs.extend(fixed.map(|(name, value)| (name, value.to_owned())));
    pairs
}

/// The pairs of every session: one item at its tier's price, and the addresses for the customer's return.
fn one_item(tier: Tier, site: &str) -> Vec<(String, String)> {
    [
        ("mode", "payment".to_owned()),
        // Stripe replaces the braces and their content by the id.
        ("success_url", format!("{site}/oracle/result?session_id={{CHECKOUT_SESSION_ID}}")),
        ("cancel_url", format!("{site}/?canceled=1")),
        ("line_items[0][price_data][currency]", CURRENCY.to_owned()),
        ("line_items[0][price_data][unit_amount]", tier.price_cents().to_string()),
        ("line_items[0][price_data][product_data][name]", tier.name().to_owned()),
        ("line_items[0][quantity]", "1".to_owned()),
        // Without it the account's setting decides, and a customer abroad pays a converted price (Product Tiers, GAP-5).
        ("adaptive_pricing[enabled]", "false".to_owned()),
        ("metadata[tier]", tier.key().to_owned()),
        // Session metadata is not copied to the payment, where refunds and disputes are handled.
        ("payment_intent_data[metadata][tier]", tier.key().to_owned()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{Query, Tier, query};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn form(tier: Tier, query: &str, promotion_code: Option<&str>) -> Vec<(String, String)> {
        let new = NewCheckoutSession {
            tier,
            query: Query::parse(query).unwrap(),
            promotion_code: promotion_code.map(str::to_owned),
            idempotency_key: "key".into(),
        };
        checkout(&new, "https://oracle.example")
    }

    /// Encodes like the client, and decodes with an independent parser.
    fn through_the_wire(pairs: &[(String, String)]) -> BTreeMap<String, String> {
        let request = reqwest::Client::new().post("http://localhost/").form(pairs).build().unwrap();
        let body = std::str::from_utf8(request.body().unwrap().as_bytes().unwrap()).unwrap().to_owned();
        assert!(body.is_ascii());
        let url = reqwest::Url::parse(&format!("http://localhost/?{body}")).unwrap();
        url.query_pairs().into_owned().collect()
    }

    #[test]
    fn the_form_is_stripes() {
        let pairs = form(Tier::Strategy, "Should I?", Some("promo_1"));
        let expected = [
            ("mode", "payment"),
            ("success_url", "https://oracle.example/oracle/result?session_id={CHECKOUT_SESSION_ID}"),
            ("cancel_url", "https://oracle.example/?canceled=1"),
            ("line_items[0][price_data][currency]", "cad"),
            ("line_items[0][price_data][unit_amount]", "2500"),
            ("line_items[0][price_data][product_data][name]", "Strategy Session"),
            ("line_items[0][quantity]", "1"),
            ("adaptive_pricing[enabled]", "false"),
            ("metadata[tier]", "strategy"),
            ("payment_intent_data[metadata][tier]", "strategy"),
            ("metadata[q0]", "Should I?"),
            ("metadata[qn]", "1"),
            ("discounts[0][promotion_code]", "promo_1"),
        ];
        assert_eq!(pairs, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }

    /// Stage 4's parameters, and the mark.
    #[test]
    fn the_smoke_tests_form_is_fixed() {
        let decoded = through_the_wire(&smoke("https://oracle.example"));
        for (name, value) in [
            ("mode", "payment"),
            ("line_items[0][price_data][unit_amount]", "100"),
            ("line_items[0][price_data][currency]", "cad"),
            ("adaptive_pricing[enabled]", "false"),
            ("metadata[tier]", "quick"),
            ("metadata[q0]", "Is the Oracle pipeline operational? This is an automated smoke test."),
            ("metadata[qn]", "1"),
            ("metadata[smoke]", "true"),
            ("customer_email", "oracle-smoke-test@42sisters.ai"),
        ] {
            assert_eq!(decoded.get(name).map(String::as_str), Some(value), "{name}");
        }
    }

    /// No question can set the smoke test's mark.
    #[test]
    fn a_customers_form_never_bears_the_mark() {
        let text = format!("metadata[smoke]=true&smoke=true {}", "smoke=true&".repeat(200));
        for (name, _) in form(Tier::Quick, &text, Some("promo_1")) {
            assert!(!name.contains("smoke"), "{name}");
        }
    }

    #[test]
    fn the_longest_question_stays_within_stripes_limits() {
        let pairs = form(Tier::Full, &"🍁".repeat(query::MAX_CHARACTERS), None);
        let metadata: Vec<_> = pairs.iter().filter(|(name, _)| name.starts_with("metadata[")).collect();
        assert_eq!(metadata.len(), 43);
        assert!(metadata.iter().all(|(_, value)| value.chars().count() <= 500));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_question_survives_the_wire(text in "(?s).{1,1500}|[&=+%\\[\\]{}\r\n]{1,200}") {
            prop_assume!(Query::parse(text.as_str()).is_ok());
            let pairs = form(Tier::Quick, &text, None);
            let decoded = through_the_wire(&pairs);
            prop_assert_eq!(decoded.len(), pairs.len());
            let metadata = decoded.iter().filter_map(|(name, value)| {
                Some((name.strip_prefix("metadata[")?.strip_suffix(']')?.to_owned(), value.clone()))
            });
            prop_assert_eq!(query::from_metadata(&metadata.collect()), Some(text));
        }
    }
}

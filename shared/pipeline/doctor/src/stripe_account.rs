//! Checks that webhook endpoints and payment links provide what the functions read.

use crate::Finding;
use domain::{Tier, tier::CURRENCY};
use std::collections::BTreeSet;
use stripe::{API_VERSION, HANDLED, LinkItem, PaymentLink, WebhookEndpoint};

pub(crate) const ENDPOINT: &str = "Stripe webhook endpoint";
pub(crate) const LINKS: &str = "Stripe payment links";

/// Findings about the account's webhook endpoints, for a site.
pub(crate) fn endpoints(all: &[WebhookEndpoint], site: &str) -> Vec<Finding> {
    let url = format!("{site}/api/webhook");
    let found = |problem: String, remedy: String| Finding::new(ENDPOINT, problem, remedy);
    let ours: Vec<&WebhookEndpoint> = all.iter().filter(|endpoint| endpoint.url == url).collect();
    let Some(first) = ours.first() else {
        let similar = all.iter().filter(|endpoint| endpoint.url.trim_end_matches('/').ends_with("/api/webhook"));
        let similar: Vec<&str> = similar.map(|endpoint| endpoint.url.as_str()).collect();
        let others = if similar.is_empty() { String::new() } else { format!("; there is {}", similar.join(", ")) };
        let create = format!(
            "create it in Stripe's dashboard with API version {API_VERSION} and the events {}, and store its signing \
             secret with `oracle secrets set stripe-webhook`",
            HANDLED.join(", ")
        );
        return vec![found(format!("no endpoint has the address {url}{others}"), create)];
    };
    let mut findings = Vec::new();
    if ours.len() > 1 {
        let problem = format!("{} endpoints have the address {url}: every event arrives as often", ours.len());
        findings.push(found(problem, "delete all but one".to_owned()));
    }
    if !first.is_enabled {
        findings
            .push(found("it is disabled: no sale arrives".to_owned(), "enable it in Stripe's dashboard".to_owned()));
    }
    if first.api_version.as_deref() != Some(API_VERSION) {
        let version = first.api_version.as_deref().unwrap_or("the account's default");
        findings.push(found(
            format!("its events have the API version {version}, and {API_VERSION} is read"),
            format!("create another endpoint with API version {API_VERSION}, store its secret beside the old one, then delete the old endpoint"),
        ));
    }
    let wanted: BTreeSet<String> = HANDLED.iter().map(|name| (*name).to_owned()).collect();
    let everything = first.events.contains("*");
    let missing: Vec<&str> = wanted.difference(&first.events).map(String::as_str).collect();
    if !everything && !missing.is_empty() {
        findings
            .push(found(format!("it does not deliver {}", missing.join(", ")), "add these events to it".to_owned()));
    }
    let surplus: Vec<&str> = first.events.difference(&wanted).map(String::as_str).collect();
    if !surplus.is_empty() {
        let problem = format!("it delivers what nothing reads: {}", surplus.join(", "));
        findings.push(found(problem, "select exactly the events of the deployment guide".to_owned()));
    }
    findings
}

/// Findings about the active payment links.
pub(crate) fn links(all: &[PaymentLink], site: &str) -> Vec<Finding> {
    let back = format!("{site}/oracle/result?session_id={{CHECKOUT_SESSION_ID}}");
    let mut findings = Vec::new();
    for link in all {
        let mut found = |problem: String, remedy: String| {
            findings.push(Finding::new(LINKS, format!("{}: {problem}", link.id), remedy));
        };
        match link.tier.as_deref().and_then(|tier| Tier::parse(tier).ok()) {
            None => {
                let keys = Tier::ALL.map(Tier::key).join(", ");
                let tier = link.tier.as_deref().map_or("no tier".to_owned(), |tier| format!("the tier {tier:?}"));
                found(
                    format!("its metadata has {tier}"),
                    format!("set the metadata `tier` to one of {keys}, or deactivate the link"),
                );
            }
            Some(tier) => {
                if let Some(problem) = price_problem(link, tier) {
                    found(
                        problem,
                        format!(
                            "deactivate it, and create one that sells a single item at the one-time price of {} cents \
                             {CURRENCY}, with a fixed quantity and nothing beside it",
                            tier.price_cents()
                        ),
                    );
                }
            }
        }
        if !link.asks_for_question {
            found(
                "customers can pay without asking anything".to_owned(),
                "give it a required text field with the key `idea`".to_owned(),
            );
        }
        if link.returns_to.as_deref() != Some(back.as_str()) {
            found(
                "customers do not come to their verdict's page after paying".to_owned(),
                format!("let it redirect to {back}"),
            );
        }
    }
    findings
}

/// The problem with what customers of a link pay; `None` if it is exactly the price of its tier (Product Tiers,
/// invariant 1). A sale at another price is delivered, and only the next daily comparison notices it.
fn price_problem(link: &PaymentLink, tier: Tier) -> Option<String> {
    let price = tier.price_cents();
    let [item] = link.items.as_slice() else {
        return Some(format!("it sells {} items instead of one", link.items.len()));
    };
    if link.offers_more {
        return Some("customers are offered more than the verdict, at a price of its own".to_owned());
    }
    if !item.is_fixed {
        return Some("customers can change the amount or the quantity, or are billed again and again".to_owned());
    }
    let LinkItem { amount, currency, .. } = item;
    if *amount == Some(i64::from(price)) && currency.as_deref() == Some(CURRENCY) {
        return None;
    }
    let amount = amount.map_or_else(|| "an unknown number of".to_owned(), |amount| amount.to_string());
    let currency = currency.as_deref().unwrap_or("of an unknown currency");
    Some(format!("customers pay {amount} cents {currency}, and the tier {} costs {price} cents {CURRENCY}", tier.key()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SITE: &str = "https://oracle.example";

    fn endpoint() -> WebhookEndpoint {
        WebhookEndpoint {
            url: format!("{SITE}/api/webhook"),
            is_enabled: true,
            api_version: Some(API_VERSION.to_owned()),
            events: HANDLED.iter().map(|name| (*name).to_owned()).collect(),
        }
    }

    fn link() -> PaymentLink {
        PaymentLink {
            id: "plink_1".to_owned(),
            tier: Some("full".to_owned()),
            asks_for_question: true,
            returns_to: Some(format!("{SITE}/oracle/result?session_id={{CHECKOUT_SESSION_ID}}")),
            offers_more: false,
            items: vec![item()],
        }
    }

    fn item() -> LinkItem {
        LinkItem { amount: Some(500), currency: Some("cad".to_owned()), is_fixed: true }
    }

    fn expect_problem(findings: &[Finding], expected: &str) {
        assert!(findings.iter().any(|it| it.problem.contains(expected)), "{expected}: {findings:?}");
        assert!(findings.iter().all(|it| !it.remedy.is_empty()));
    }

    #[test]
    fn an_endpoint_as_it_must_be_is_no_finding() {
        let other = WebhookEndpoint { url: "https://shop.example/hook".to_owned(), ..endpoint() };
        assert_eq!(endpoints(&[other, endpoint()], SITE), []);
    }

    #[test]
    fn every_fault_of_an_endpoint_is_a_finding() {
        expect_problem(&endpoints(&[], SITE), "no endpoint has the address https://oracle.example/api/webhook");
        let elsewhere = WebhookEndpoint { url: "https://old.example/api/webhook".to_owned(), ..endpoint() };
        expect_problem(&endpoints(&[elsewhere], SITE), "; there is https://old.example/api/webhook");
        expect_problem(&endpoints(&[endpoint(), endpoint()], SITE), "2 endpoints have the address");
        expect_problem(&endpoints(&[WebhookEndpoint { is_enabled: false, ..endpoint() }], SITE), "it is disabled");
        for version in [None, Some("2020-08-27".to_owned())] {
            expect_problem(&endpoints(&[WebhookEndpoint { api_version: version, ..endpoint() }], SITE), "API version");
        }
        let mut fewer = endpoint();
        fewer.events.remove("charge.refunded");
        expect_problem(&endpoints(&[fewer], SITE), "it does not deliver charge.refunded");
        let mut more = endpoint();
        more.events.insert("invoice.created".to_owned());
        expect_problem(&endpoints(&[more], SITE), "nothing reads: invoice.created");
        let all = WebhookEndpoint { events: ["*".to_owned()].into(), ..endpoint() };
        assert_eq!(endpoints(&[all], SITE).len(), 1, "everything is surplus, and nothing is missing");
    }

    #[test]
    fn every_fault_of_a_payment_link_is_a_finding() {
        assert_eq!(links(&[link()], SITE), []);
        expect_problem(&links(&[PaymentLink { tier: None, ..link() }], SITE), "plink_1: its metadata has no tier");
        expect_problem(&links(&[PaymentLink { tier: Some("gold".to_owned()), ..link() }], SITE), "the tier \"gold\"");
        expect_problem(&links(&[PaymentLink { asks_for_question: false, ..link() }], SITE), "without asking anything");
        expect_problem(
            &links(&[PaymentLink { returns_to: None, ..link() }], SITE),
            "do not come to their verdict's page",
        );
    }

    #[test]
    fn a_payment_link_sells_its_tier_at_its_price_and_nothing_else() {
        let selling = |items: Vec<LinkItem>| PaymentLink { items, ..link() };
        for (wrong, problem) in [
            (
                selling(vec![LinkItem { amount: Some(10_000), ..item() }]),
                "customers pay 10000 cents cad, and the tier full costs 500 cents cad",
            ),
            (selling(vec![LinkItem { amount: Some(499), ..item() }]), "customers pay 499 cents cad"),
            (selling(vec![LinkItem { currency: Some("usd".to_owned()), ..item() }]), "customers pay 500 cents usd"),
            (selling(vec![LinkItem { amount: None, currency: None, ..item() }]), "an unknown number of cents"),
            (selling(vec![LinkItem { is_fixed: false, ..item() }]), "can change the amount"),
            (selling(vec![item(), item()]), "it sells 2 items"),
            (selling(Vec::new()), "it sells 0 items"),
            (PaymentLink { offers_more: true, ..link() }, "offered more"),
            (PaymentLink { tier: Some("quick".to_owned()), ..link() }, "the tier quick costs 100 cents cad"),
        ] {
            let findings = links(&[wrong], SITE);
            assert_eq!(findings.len(), 1, "{problem}: {findings:?}");
            expect_problem(&findings, problem);
        }
    }

    /// The deployment guide lists the events that the doctor requires.
    #[test]
    fn the_deployment_guide_lists_the_same_events() {
        let guide = include_str!("../../../../infra/README.md");
        for name in HANDLED {
            assert!(guide.contains(name), "{name}");
        }
    }
}

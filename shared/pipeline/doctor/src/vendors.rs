//! Reads the settings of Stripe, Gemini and the mailbox.

use crate::{Finding, mailbox, portal, stripe_account, stripe_keys};
use domain::ports::ModelError;

const MODELS: &str = "Gemini models";

/// The vendors' clients of a stack, with the stack's own keys.
pub struct Vendors<'a> {
    /// The address of the site, without a slash at the end.
    pub site: &'a str,
    /// Stripe, with the key for reading.
    pub stripe: &'a stripe::LazyClient,
    /// Stripe, with the key of the checkout.
    pub selling: &'a stripe::LazyClient,
    /// Stripe, with the key for refunds.
    pub refunding: &'a stripe::LazyClient,
    /// Gemini.
    pub gemini: &'a gemini::LazyClient,
    /// The names of the models, in order of preference.
    pub models: &'a [&'a str],
    /// The mailbox.
    pub mailbox: &'a graph::LazyClient,
}

/// Checks the vendors' accounts. Changes nothing and costs nothing.
pub async fn examine(vendors: Vendors<'_>) -> Vec<Finding> {
    let key =
        "see that Stripe works and that the key may read Webhook Endpoints, Payment Links and the Customer portal";
    let mut findings = match vendors.stripe.webhook_endpoints().await {
        Ok(all) => stripe_account::endpoints(&all, vendors.site),
        Err(error) => vec![Finding::unknown(stripe_account::ENDPOINT, &error, key)],
    };
    findings.extend(match vendors.stripe.payment_links().await {
        Ok(all) => stripe_account::links(&all, vendors.site),
        Err(error) => vec![Finding::unknown(stripe_account::LINKS, &error, key)],
    });
    findings.extend(match vendors.stripe.portal_settings().await {
        Ok(settings) => portal::settings(settings),
        Err(error) => vec![Finding::unknown(portal::PORTAL, &error, key)],
    });
    findings.extend(key_modes(&vendors).await);
    for model in vendors.models {
        match vendors.gemini.knows(model).await {
            Ok(()) => {}
            Err(ModelError::UnknownModel) => findings.push(not_served(model)),
            Err(error) => {
                findings.push(Finding::unknown(MODELS, &error, "see that the key in the secret gemini is valid"));
                break;
            }
        }
    }
    findings.extend(match vendors.mailbox.permissions().await {
        Ok(granted) => mailbox::permissions(&granted),
        Err(error) => vec![Finding::unknown(
            mailbox::SUBJECT,
            &error,
            "see that the secrets graph and graph-token are filled, and in Microsoft Entra that the client secret has \
             not expired; if consent was withdrawn, consent again and `oracle secrets set graph-token`",
        )],
    });
    findings
}

/// Compares the modes of the keys. Their forms show them, so Stripe is not asked.
async fn key_modes(vendors: &Vendors<'_>) -> Vec<Finding> {
    let Vendors { stripe, selling, refunding, .. } = *vendors;
    let mut keys = Vec::new();
    for (name, client) in [("stripe", stripe), ("stripe-checkout", selling), ("stripe-refund", refunding)] {
        match client.live_mode().await {
            Ok(mode) => keys.push((name, mode)),
            Err(error) => {
                let remedy = format!("see that your own role may read the secret {name}, and that it is filled");
                return vec![Finding::unknown(stripe_keys::KEYS, &error, &remedy)];
            }
        }
    }
    stripe_keys::modes(&keys)
}

fn not_served(model: &str) -> Finding {
    let problem = format!("{model} is not served, or not any more");
    Finding::new(MODELS, problem, "deploy with another GeminiModel list; the next model of the list serves meanwhile")
}

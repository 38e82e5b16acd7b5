//! Reads the settings of Stripe, Gemini and the mailbox.

use crate::{Finding, mailbox, portal, stripe_account};
use domain::ports::ModelError;

const MODELS: &str = "Gemini models";

/// The vendors' clients of a stack, with the stack's own keys.
pub struct Vendors<'a> {
    /// The address of the site, without a slash at the end.
    pub site: &'a str,
    /// Stripe.
    pub stripe: &'a stripe::LazyClient,
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
            "see that the secrets graph and graph-token are filled; if consent was withdrawn, consent again and \
             `oracle secrets set graph-token`",
        )],
    });
    findings
}

fn not_served(model: &str) -> Finding {
    let problem = format!("{model} is not served, or not any more");
    Finding::new(MODELS, problem, "deploy with another GeminiModel list; the next model of the list serves meanwhile")
}

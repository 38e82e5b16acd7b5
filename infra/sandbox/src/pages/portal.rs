//! The customer portal: a customer's subscriptions, with a button that cancels each.

use std::sync::Arc;

use hyper::Method;
use jiff::Timestamp;
use maud::{Markup, html};
use serde_json::Value;

use super::{layout, pay::money};
use crate::http::{Reply, Request, parse_form};
use crate::state::Shared;
use crate::stripe::subscriptions;
use crate::webhook;

/// Shows the page, or carries out its button's action.
pub(crate) fn portal(shared: &Arc<Shared>, request: &Request, token: &str) -> Reply {
    if request.method == Method::POST {
        let fields = parse_form(&request.body);
        let id = fields.iter().find(|(name, _)| name == "subscription").map_or("", |(_, id)| id.as_str());
        let acted = subscriptions::act_in_portal(&mut shared.lock(), token, id);
        webhook::deliver_unreported(shared);
        let status = if acted.is_some() { 303 } else { 409 };
        return Reply::empty(status).with_header("Location", format!("/stripe/portal/{token}"));
    }
    let state = shared.lock();
    let Some((found, back)) = subscriptions::of_portal(&state, token) else {
        let main = html! { h1 { "Nothing here" } p { "This portal was never opened." } };
        return Reply::html(404, layout("Nothing here", &main));
    };
    let main = html! {
        div.pay.card {
            p.tag { "SANDBOX" }
            h1 { "Your subscriptions" }
            @for subscription in &found { (shown(subscription)) }
            p.center { a #back href=(back) { "Back to the site" } }
        }
    };
    Reply::html(200, layout("Customer portal (sandbox)", &main))
}

/// One subscription, and the button that changes it.
fn shown(subscription: &Value) -> Markup {
    let item = &subscription["items"]["data"][0];
    let end = item["current_period_end"].as_i64().and_then(|end| Timestamp::from_second(end).ok());
    let end = end.unwrap_or_default().strftime("%Y-%m-%d").to_string();
    let (says, button) = match (subscription["status"].as_str(), subscription["cancel_at_period_end"] == true) {
        (Some("canceled"), _) => ("has ended".to_owned(), None),
        (_, true) => (format!("ends on {end}"), Some("Keep the subscription")),
        (Some("past_due"), _) => ("its payment failed".to_owned(), Some("Cancel the subscription")),
        _ => (format!("renews on {end}"), Some("Cancel the subscription")),
    };
    html! {
        p { (money(&item["price"]["unit_amount"], "cad")) " a month, " (says) }
        @if let Some(button) = button {
            form method="post" {
                input type="hidden" name="subscription" value=(subscription["id"].as_str().unwrap_or(""));
                button type="submit" { (button) }
            }
        }
    }
}

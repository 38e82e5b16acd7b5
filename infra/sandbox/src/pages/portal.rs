//! The customer portal: what somebody subscribes to, and a button that cancels it.

use std::sync::Arc;

use hyper::Method;
use jiff::Timestamp;

use super::{escape, layout};
use crate::http::{Reply, Request, parse_form};
use crate::state::Shared;
use crate::stripe::subscriptions;
use crate::webhook;

/// Shows the page, or does what its button says.
pub(crate) fn portal(shared: &Arc<Shared>, request: &Request, token: &str) -> Reply {
    if request.method == Method::POST {
        let fields = parse_form(&request.body);
        let id = fields.iter().find(|(name, _)| name == "subscription").map_or("", |(_, id)| id.as_str());
        let acted = subscriptions::act_in_portal(&mut shared.lock(), token, id);
        webhook::deliver_untold(shared);
        let status = if acted.is_some() { 303 } else { 409 };
        return Reply::empty(status).with_header("Location", format!("/stripe/portal/{token}"));
    }
    let state = shared.lock();
    let Some((found, back)) = subscriptions::of_portal(&state, token) else {
        return Reply::html(404, layout("Nothing here", "<h1>Nothing here</h1>\n<p>This portal was never opened.</p>"));
    };
    let mut main = "<div class=\"pay card\"><p class=\"tag\">SANDBOX</p>\n<h1>Your subscriptions</h1>\n".to_owned();
    for subscription in &found {
        let item = &subscription["items"]["data"][0];
        let end = item["current_period_end"].as_i64().and_then(|end| Timestamp::from_second(end).ok());
        let end = end.unwrap_or_default().strftime("%Y-%m-%d").to_string();
        let id = escape(subscription["id"].as_str().unwrap_or(""));
        let (says, button) = match (subscription["status"].as_str(), subscription["cancel_at_period_end"] == true) {
            (Some("canceled"), _) => ("has ended".to_owned(), None),
            (_, true) => (format!("ends on {end}"), Some("Keep the subscription")),
            (Some("past_due"), _) => ("its payment failed".to_owned(), Some("Cancel the subscription")),
            _ => (format!("renews on {end}"), Some("Cancel the subscription")),
        };
        let amount = item["price"]["unit_amount"].as_i64().unwrap_or(0);
        main.push_str(&format!("<p>CA${}.{:02} a month, {}</p>\n", amount / 100, amount % 100, escape(&says)));
        if let Some(button) = button {
            main.push_str(&format!(
                "<form method=\"post\"><input type=\"hidden\" name=\"subscription\" value=\"{id}\">\
                 <button type=\"submit\">{button}</button></form>\n"
            ));
        }
    }
    main.push_str(&format!(
        "<p class=\"center\"><a id=\"back\" href=\"{}\">Back to the site</a></p></div>",
        escape(&back)
    ));
    Reply::html(200, layout("Customer portal (sandbox)", &main))
}

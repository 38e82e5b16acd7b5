//! Shows the accepted mails, newest first.

use maud::html;
use serde_json::Value;

use super::{counted, layout};
use crate::{credentials::GRAPH_SENDER, state::State};

pub(crate) fn mailbox(state: &State) -> String {
    let mails = &state.mailbox.accepted;
    let main = html! {
        h1 { "Mailbox" }
        p.soft {
            (counted(mails.len(), "mail")) " accepted from " (GRAPH_SENDER) " · " a href="/" { "Sandbox" }
        }
        @if mails.is_empty() {
            div.card { p { "No mail yet. Whatever the site sends appears here; reload to look again." } }
        }
        @for mail in mails.iter().rev() {
            @let text = |name: &str| mail[name].as_str().unwrap_or("");
            article.card.mail {
                h2 { (text("subject")) }
                p.soft { "to " (text("to")) " · " time datetime=(text("at")) { (text("at")) } }
                @for (name, value) in mail["headers"].as_object().into_iter().flatten() {
                    p.soft { (name) ": " code { (value.as_str().unwrap_or(&Value::to_string(value))) } }
                }
                pre { (text("body")) }
            }
        }
    };
    layout("Mailbox · Sandbox", &main)
}

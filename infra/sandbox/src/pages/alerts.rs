//! Shows the alerts for the stack's operators, newest first.

use maud::html;

use super::{counted, layout};
use crate::state::State;

pub(crate) fn alerts(state: &State) -> String {
    let main = html! {
        h1 { "Alerts" }
        p.soft {
            (counted(state.alerts.len(), "alert")) " from the topics of the stack · " a href="/mailbox" { "Mailbox" } " · "
            a href="/" { "Sandbox" }
        }
        p.soft {
            "A critical alert comes to both topics. CloudWatch's alarms are not evaluated on a local stack, so \
             alarms are not shown here."
        }
        @if state.alerts.is_empty() {
            div.card { p { "No alert yet. Whatever the stack tells operators appears here." } }
        }
        @for alert in state.alerts.iter().rev() {
            @let text = |name: &str| alert[name].as_str().unwrap_or("");
            article.card.mail {
                p.soft { (text("topic")) " topic · " time datetime=(text("at")) { (text("at")) } }
                pre { (text("line")) }
            }
        }
    };
    layout("Alerts · Sandbox", &main)
}

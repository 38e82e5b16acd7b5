//! The alerts that operators of the stack would get, newest first.

use std::fmt::Write as _;

use super::{escape, layout};
use crate::state::State;

pub(crate) fn alerts(state: &State) -> String {
    let count = match state.alerts.len() {
        1 => "1 alert".to_owned(),
        number => format!("{number} alerts"),
    };
    let mut main = format!(
        "<h1>Alerts</h1>\n<p class=\"soft\">{count} from the topics of the stack · <a href=\"/mailbox\">Mailbox</a> · \
         <a href=\"/\">Sandbox</a></p>\n<p class=\"soft\">A critical alert comes to both topics. CloudWatch's alarms \
         are not evaluated on a local stack: what only an alarm would tell is not told here.</p>\n"
    );
    if state.alerts.is_empty() {
        main.push_str(
            "<div class=\"card\"><p>No alert yet. Whatever the stack tells operators appears here.</p></div>\n",
        );
    }
    for alert in state.alerts.iter().rev() {
        let text = |name: &str| escape(alert[name].as_str().unwrap_or(""));
        // Writing to a text cannot fail.
        let _ = writeln!(
            main,
            "<article class=\"card mail\">\n<p class=\"soft\">{} topic · <time datetime=\"{at}\">{at}</time></p>\n\
             <pre>{}</pre>\n</article>",
            text("topic"),
            text("line"),
            at = text("at"),
        );
    }
    layout("Alerts · Sandbox", &main)
}

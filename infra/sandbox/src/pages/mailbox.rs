//! The mails accepted so far, newest first.

use std::fmt::Write as _;

use serde_json::Value;

use super::{escape, layout};
use crate::state::State;

pub(crate) fn mailbox(state: &State) -> String {
    let mails = &state.mailbox.accepted;
    let count = match mails.len() {
        1 => "1 mail".to_owned(),
        number => format!("{number} mails"),
    };
    let mut main = format!(
        "<h1>Mailbox</h1>\n<p class=\"soft\">{count} accepted from {} · <a href=\"/\">Sandbox</a></p>\n",
        escape(&state.config.graph_sender)
    );
    if mails.is_empty() {
        main.push_str(
            "<div class=\"card\"><p>No mail yet. Whatever the site sends appears here; reload to look again.</p></div>\n",
        );
    }
    for mail in mails.iter().rev() {
        let text = |name: &str| escape(mail[name].as_str().unwrap_or(""));
        let mut headers = String::new();
        for (name, value) in mail["headers"].as_object().into_iter().flatten() {
            // Writing to a text cannot fail.
            let _ = writeln!(
                headers,
                "<p class=\"soft\">{}: <code>{}</code></p>",
                escape(name),
                escape(value.as_str().unwrap_or(&Value::to_string(value)))
            );
        }
        let _ = writeln!(
            main,
            "<article class=\"card mail\">\n<h2>{}</h2>\n<p class=\"soft\">to {} · <time datetime=\"{at}\">{at}</time></p>\n{headers}<pre>{}</pre>\n</article>",
            text("subject"),
            text("to"),
            text("body"),
            at = text("at"),
        );
    }
    layout("Mailbox · Sandbox", &main)
}

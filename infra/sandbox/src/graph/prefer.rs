//! What callers prefer: ids that stay the same when a message is moved, bodies without markup.

use serde_json::{Value, json};

use crate::http::Request;

/// Every ordinary id begins so,
const ORDINARY: &str = "AAMkAGI2";

/// and every lasting one so.
const LASTING: &str = "AAkALgAA";

/// The preferences of a call that Graph knows; it ignores others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Preferences {
    lasting_ids: bool,
    text: bool,
}

impl Preferences {
    pub(super) fn of(request: &Request) -> Self {
        let stated = request.header("prefer");
        let has = |wanted: &str| stated.split(',').any(|one| one.trim().replace('"', "").eq_ignore_ascii_case(wanted));
        Self { lasting_ids: has("IdType=ImmutableId"), text: has("outlook.body-content-type=text") }
    }

    /// The header that says which of them were honoured.
    pub(super) fn applied(self) -> Option<String> {
        let ids = self.lasting_ids.then_some(r#"IdType="ImmutableId""#);
        let text = self.text.then_some(r#"outlook.body-content-type="text""#);
        let applied: Vec<&str> = ids.into_iter().chain(text).collect();
        (!applied.is_empty()).then(|| applied.join(", "))
    }

    /// A message, or a list of them, as the caller prefers it.
    pub(super) fn honour(self, reply: &mut Value) {
        if let Some(messages) = reply.get_mut("value").and_then(Value::as_array_mut) {
            messages.iter_mut().for_each(|message| self.honour_in(message));
        } else {
            self.honour_in(reply);
        }
    }

    fn honour_in(self, message: &mut Value) {
        if self.lasting_ids
            && let Some(rest) = message["id"].as_str().and_then(|id| id.strip_prefix(ORDINARY))
        {
            message["id"] = json!(format!("{LASTING}{rest}"));
        }
        if self.text && message["body"]["contentType"] == "html" {
            let content = without_markup(message["body"]["content"].as_str().unwrap_or(""));
            message["body"] = json!({ "contentType": "text", "content": content });
        }
    }
}

pub(super) fn is_lasting(id: &str) -> bool {
    id.starts_with(LASTING)
}

/// The ordinary id of a message that was named by either.
pub(super) fn ordinary(id: &str) -> String {
    id.strip_prefix(LASTING).map_or_else(|| id.to_owned(), |rest| format!("{ORDINARY}{rest}"))
}

fn without_markup(html: &str) -> String {
    let mut text = String::new();
    let mut inside = false;
    for c in html.chars() {
        match c {
            '<' => inside = true,
            '>' => inside = false,
            c if !inside => text.push(c),
            _ => {}
        }
    }
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

//! The preferences of callers: immutable ids, and bodies without markup.

use serde_json::{Value, json};

use crate::http::Request;

/// The prefix of every ordinary id.
const ORDINARY: &str = "AAMkAGI2";

/// The prefix of every immutable id.
const LASTING: &str = "AAkALgAA";

/// The supported preferences of a call; Graph ignores others.
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

    /// The header that lists the applied preferences.
    pub(super) fn applied(self) -> Option<String> {
        let ids = self.lasting_ids.then_some(r#"IdType="ImmutableId""#);
        let text = self.text.then_some(r#"outlook.body-content-type="text""#);
        let applied: Vec<&str> = ids.into_iter().chain(text).collect();
        (!applied.is_empty()).then(|| applied.join(", "))
    }

    /// Changes a message, or a list of them, to the caller's preferences.
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

/// The ordinary id of a message, from either kind of id.
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

//! Pages for people: plain HTML without scripts, made to be read at 360 px.

mod alerts;
mod mailbox;
mod pay;
mod portal;

pub(crate) use alerts::alerts;
pub(crate) use mailbox::mailbox;
pub(crate) use pay::pay;
pub(crate) use portal::portal;

const STYLE: &str = include_str!("style.css");
const INDEX: &str = include_str!("index.html");

/// A text as it may stand in HTML, attributes included.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            _ => escaped.push(letter),
        }
    }
    escaped
}

/// A whole page; `main` is HTML already, `title` is not.
fn layout(title: &str, main: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n{main}\n</main>\n</body>\n</html>\n",
        escape(title)
    )
}

/// What the sandbox offers.
pub(crate) fn index() -> String {
    layout("Sandbox", INDEX)
}

pub(crate) fn not_found() -> String {
    layout(
        "Not found · Sandbox",
        "<h1>Not found</h1>\n<p>There is nothing at this address. <a href=\"/\">What the sandbox offers</a></p>",
    )
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn markup_is_escaped() {
        assert_eq!(escape("<a href=\"x\" id='y'>&</a>"), "&lt;a href=&quot;x&quot; id=&#39;y&#39;&gt;&amp;&lt;/a&gt;");
    }
}

//! Pages for people: plain HTML without scripts, readable at a width of 360 px.

mod alerts;
mod mailbox;
mod pay;
mod portal;

use maud::{DOCTYPE, Markup, PreEscaped, html};

pub(crate) use alerts::alerts;
pub(crate) use mailbox::mailbox;
pub(crate) use pay::pay;
pub(crate) use portal::portal;

const STYLE: &str = include_str!("style.css");
const INDEX: &str = include_str!("index.html");

fn layout(title: &str, main: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body { main { (main) } }
        }
    };
    page.into_string()
}

/// The page that describes the sandbox.
pub(crate) fn index() -> String {
    layout("Sandbox", &PreEscaped(INDEX.to_owned()))
}

pub(crate) fn not_found() -> String {
    let main = html! {
        h1 { "Not found" }
        p { "There is nothing at this address. " a href="/" { "What the sandbox offers" } }
    };
    layout("Not found · Sandbox", &main)
}

/// `1 mail`, `2 mails`.
fn counted(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::INDEX;
    use crate::{chain::ledger, target::Target};

    /// The index page is the only description of the control calls.
    #[test]
    fn the_index_page_describes_every_target_and_every_control_call() {
        let names = Target::ALL.map(Target::name).into_iter().chain(ledger::FAULTS);
        for name in names {
            assert!(INDEX.contains(&format!("<code>{name}</code>")), "{name}");
        }
        let calls = include_str!("../control.rs");
        let arms =
            calls.lines().filter_map(|line| line.trim().strip_prefix("(\"").filter(|arm| arm.contains("\", [\"")));
        let paths = arms.filter_map(|arm| {
            let (_, path) = arm.split_once("[\"")?;
            Some(format!("/control/{}", path.split_once("\"]")?.0.replace("\", \"", "/")))
        });
        let paths: Vec<String> = paths.collect();
        assert!(paths.len() > 20 && paths.contains(&"/control/chain/faults".to_owned()), "{paths:?}");
        let missing: Vec<_> = paths.iter().filter(|path| !INDEX.contains(path.as_str())).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}

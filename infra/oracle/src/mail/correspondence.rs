//! Formats received mails as text that can neither move the terminal's cursor nor be clicked.

use std::fmt::Write as _;

use domain::{customer_text, inbox::Correspondence};

use crate::terminal::output::printable;

pub(crate) fn for_people(says: Option<&Correspondence>) -> String {
    let Some(Correspondence { sender, subject, text: body }) = says else {
        return "  the mailbox does not have it any more\n".to_owned();
    };
    let mut text = String::new();
    let subject = customer_text::defused_line(subject, usize::MAX);
    let _ = writeln!(text, "  from     {}\n  subject  {subject}\n", printable(sender));
    for line in customer_text::visible(body).lines() {
        let _ = writeln!(text, "  {}", customer_text::defused_line(line, usize::MAX));
    }
    text
}

//! Outages of the table: what pages still show.

use super::{Checked, Checker, Invocation, is_clean};
use crate::{cast::Customer, rules::Rule};
use runtime::http::Reply;

impl Checker {
    /// A page that cannot read the table shows the archived verdict, unless the filter would have to change it. Verdicts
    /// that were archived while the page was being answered, and erased ones, are left out.
    pub(super) fn served_from_archive(&self, customer: &Customer, invocation: &Invocation, reply: &Reply) -> Checked {
        let seen = customer.session.as_ref().and_then(|session| self.seen.get(session));
        let Some(seen) = seen.filter(|_| invocation.has_no_table && !invocation.has_other_faults) else {
            return Ok(());
        };
        let was_archived = seen.archived_since.is_some_and(|since| since < invocation.began);
        let clean = seen.archived.as_ref().is_some_and(|kept| kept.verdict.texts().into_iter().all(is_clean));
        let expected = was_archived && clean && seen.erased_since.is_none() && customer.mishap.is_none();
        Rule::ServedFromArchive.require(!expected || reply.status() == 200, || {
            format!("an archived verdict, and a page without the table answers {}", reply.status())
        })
    }
}

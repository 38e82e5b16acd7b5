//! Finds the data of one sale's customer in a [`State`].
//!
//! Every field of the state is named here, so that adding a store to the world does not compile until it is decided
//! whether erasure must empty it.

use crate::world::{Delivered, State};
use domain::{SessionId, mail::Draft};

impl State {
    /// The stores that have data of a sale, or a text that contains `needle`, except what an erasure keeps: the books
    /// at Stripe, the mails that the customer has received, and the alerts.
    #[must_use]
    pub fn traces(&self, session: &SessionId, needle: &str) -> Vec<&'static str> {
        let Self {
            sales,
            cache,
            cache_index,
            archive,
            log,
            quarantine,
            queue,
            outgoing,
            submissions,
            dead_letters,
            notes,
            alerts,
            held_back_alerts,
            logged_alerts,
            drafts,
            relay_drafts,
            relay_claims,
            sent,
            removed_mails,
            inbox,
            conversations,
            acknowledged,
            // These are no messages of ours.
            put_aside: _,
            // These have a sale's id and no text.
            corrupt_entries: _,
            removed_entries: _,
            strange_rows: _,
            relay_links: _,
            // These belong to no sale. Purchases in USDC have no customer but a wallet, and store no question;
            // subscribers are stored by a digest and have no text.
            purchases: _,
            corpora: _,
            subscribers: _,
            bridges: _,
            purchase_names: _,
            accounts: _,
            beginnings: _,
            logins: _,
            chat_sessions: _,
            allowances: _,
            memory_logs: _,
            memory_keys: _,
            memory_keys_made: _,
            memory_keys_destroyed: _,
            subscribing: _,
            deleted_customers: _,
            billing: _,
            invoices: _,
            chain: _,
            now: _,
            skew: _,
            random: _,
            corrupt_cache: _,
            cache_totals: _,
            corrections: _,
            log_written_at: _,
            log_measurements: _,
            log_originals: _,
            log_unreadable: _,
            log_notices: _,
            hidden_log_notices: _,
            digests: _,
            signed: _,
            hidden: _,
            breakers: _,
            suppression: _,
            measurements: _,
            promotion_codes: _,
            other_mode: _,
            unknown_ids: _,
            relays_mails: _,
            mailbox_says: _,
            mailbox_returns_at: _,
            mail_calls: _,
            sent_at: _,
            sent_items_lag: _,
            draft_lag: _,
            acknowledgements: _,
            paused: _,
            boundaries: _,
            crossings: _,
            // These are Stripe's.
            refunds: _,
            unknown_refunds: _,
            refund_status: _,
            refund_refused: _,
            reports: _,
            unreadable: _,
            slowest_method: _,
            checkout_total: _,
            given_back: _,
            sessions: _,
            smoke_sessions: _,
            created: _,
            // These are the model's, which stores nothing of the sale.
            answers: _,
            model: _,
            sentence_time: _,
            prompts: _,
            // These are for operators: a line names a sender, and is read in their mailboxes.
            broadcasts: _,
        } = self;
        let says = |text: &str| !needle.is_empty() && text.contains(needle);
        let shows = |thing: &dyn std::fmt::Debug| says(&format!("{thing:?}"));
        let is_relayed = |draft: &Draft| relay_claims.iter().any(|(id, _)| id.draft() == *draft);
        let in_mailbox = |(draft, letter): &&(Draft, Delivered)| {
            let is_kept = !is_relayed(draft);
            let is_of_sale = letter.session == *session || acknowledged.get(&draft.id) == Some(session);
            is_kept && (is_of_sale || shows(letter)) && !removed_mails.contains(&draft.id)
        };
        let answers = inbox.iter().any(|unread| {
            let conversation = unread.message.conversation.as_ref();
            conversation.and_then(|id| conversations.get(id)) == Some(session) || says(&unread.message.subject)
        });
        let row = sales.get(session).is_some_and(|(sale, _)| {
            !sale.is_erased() || sale.query_hash().is_some() || sale.email_tag().is_some() || !sale.replies().is_empty()
        });
        let found = [
            ("sale", row || sales.values().any(|(sale, _)| shows(sale))),
            ("cache", cache.contains_key(session) || cache_index.contains_key(session) || shows(cache)),
            ("archive", archive.contains_key(session) || shows(archive)),
            ("quarantine", quarantine.iter().any(|(held, text)| held == session || says(text))),
            ("submissions", submissions.contains_key(session) || shows(submissions)),
            ("dead letters", dead_letters.keys().any(|key| key.contains(session.as_str())) || shows(dead_letters)),
            ("drafts", drafts.values().any(|draft| in_mailbox(&draft))),
            ("drafts in the table", relay_drafts.keys().any(|id| id.session == *session)),
            ("sent mails", sent.iter().any(|mail| in_mailbox(&mail))),
            ("replies", answers),
            ("log", shows(log)),
            ("queues", shows(queue) || shows(outgoing)),
            ("notes", shows(notes)),
            ("alerts", shows(alerts) || shows(held_back_alerts) || shows(logged_alerts)),
        ];
        found.into_iter().filter(|(_, found)| *found).map(|(name, _)| name).collect()
    }
}

//! The one list of the places that hold personal data of a sale, with the effect of erasure on each.
//!
//! A test of the template fails for a resource that stores data and is not in [`PLACES`]. [`crate::Sale::erase`]
//! decides about the fields of the sale's own record, and does not compile when a field is left out.

use serde::Serialize;

crate::enum_with_words! {
    /// A store from which erasure removes a sale's data.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Store {
        /// The sale's items in the table, except its own record: the cached verdict, corrupt entries that were set
        /// aside, an operator's submission, drafts of mails. Any other item in the sale's partition is removed with
        /// them.
        Table = "table",
        /// The archived verdict, all its versions.
        Archive = "archive",
        /// Dead letters, all their versions.
        DeadLetters = "dead letters",
        /// Payloads that the content filter held.
        Quarantine = "quarantine",
        /// Drafts, sent mails and the customer's replies in the mailbox.
        Mailbox = "mailbox",
    }
    /// Its name in the audit log and for operators.
    pub const fn as_str;
    /// Every store.
    pub const ALL;
}

/// The effect of erasure on a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErasureEffect {
    /// The sale's data is removed from these stores.
    Emptied(&'static [Store]),
    /// It never contains a text or an address; it contains this instead.
    HoldsNone(&'static str),
    /// Its data expires, after this time.
    Expires(&'static str),
    /// A human erases the data there, in this way.
    ByHand(&'static str),
    /// It contains texts that no erasure removes, for this reason.
    Stays(&'static str),
}

/// A place that stores data of sales.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Resources of the template by name (a star matches any prefix), or a vendor.
    pub names: &'static [&'static str],
    /// The effect of erasure.
    pub effect: ErasureEffect,
}

impl Place {
    /// Whether a resource of the template is this place.
    #[must_use]
    pub fn covers(&self, resource: &str) -> bool {
        let is_this = |name: &&str| match name.strip_prefix('*') {
            Some(end) => resource.ends_with(end),
            None => *name == resource,
        };
        self.names.iter().any(is_this)
    }
}

/// Every place.
pub const PLACES: &[Place] = &[
    Place { names: &["Table"], effect: ErasureEffect::Emptied(&[Store::Table]) },
    Place { names: &["ArchiveBucket"], effect: ErasureEffect::Emptied(&[Store::Archive, Store::DeadLetters]) },
    Place { names: &["QuarantineBucket"], effect: ErasureEffect::Emptied(&[Store::Quarantine]) },
    Place { names: &["the mailbox"], effect: ErasureEffect::Emptied(&[Store::Mailbox]) },
    Place {
        names: &["AuditBucket"],
        effect: ErasureEffect::HoldsNone(
            "the chained log: session ids, truncated and keyed digests, terms and offsets",
        ),
    },
    Place { names: &["DigestsBucket"], effect: ErasureEffect::HoldsNone("signed digests of the log") },
    Place {
        names: &["ArchiveCopy"],
        effect: ErasureEffect::Expires("the copy in a second region is removed about a day after the archived verdict"),
    },
    Place {
        names: &["AuditCopy", "DigestsCopy"],
        effect: ErasureEffect::HoldsNone("copies of the log and its digests"),
    },
    Place {
        names: &["AnalyticsBucket"],
        effect: ErasureEffect::Expires("answers about the log are removed after 30 days"),
    },
    Place {
        names: &["OrdersQueue", "EmailQueue", "EmailRetryQueue", "NoticesQueue", "PaymentsQueue", "LogNoticesQueue"],
        effect: ErasureEffect::HoldsNone("session ids, payment ids and times"),
    },
    Place {
        names: &[
            "OrdersDeadLetters",
            "EmailDeadLetters",
            "EmailRetryDeadLetters",
            "NoticesDeadLetters",
            "PaymentsDeadLetters",
            "LogNoticesDeadLetters",
        ],
        effect: ErasureEffect::HoldsNone("session ids, payment ids and times"),
    },
    Place { names: &["CriticalTopic"], effect: ErasureEffect::HoldsNone("alerts: references and times") },
    Place {
        names: &["OpsTopic"],
        effect: ErasureEffect::Expires(
            "lines about incoming mail name the sender and the subject, until they are delivered",
        ),
    },
    Place {
        names: &["AlertDeadLetters"],
        effect: ErasureEffect::Expires("lines about incoming mail that the webhook refused are removed after 14 days"),
    },
    Place {
        names: &["*Log"],
        effect: ErasureEffect::HoldsNone("twelve characters or the reference of a session id, times and codes"),
    },
    Place {
        names: &["the table's point-in-time recovery"],
        effect: ErasureEffect::Expires("earlier states of the table can be brought back for 35 days"),
    },
    Place {
        names: &["other messages in the mailbox"],
        effect: ErasureEffect::ByHand(
            "messages that belong to no sale (inquiries), their acknowledgements, bounces: search it for the address \
             and purge them",
        ),
    },
    Place {
        names: &["messages that are purged from the mailbox"],
        effect: ErasureEffect::Expires(
            "Exchange keeps them until its retention of deleted items ends (14 days by default, at most 30), and as \
             long as the mailbox is under a hold",
        ),
    },
    Place {
        names: &["Amazon SES"],
        effect: ErasureEffect::ByHand(
            "if it sends the mails: an address that bounced or complained may be on the account's suppression list \
             (aws sesv2 delete-suppressed-destination)",
        ),
    },
    Place {
        names: &["Gemini"],
        effect: ErasureEffect::Expires("prompts and answers are kept for 55 days, to detect abuse"),
    },
    Place {
        names: &["operators' own mailboxes"],
        effect: ErasureEffect::ByHand("lines about incoming mail name the sender and the subject"),
    },
    Place {
        names: &["the service behind AlertWebhookUrl"],
        effect: ErasureEffect::ByHand("if there is one: lines about incoming mail name the sender and the subject"),
    },
    Place {
        names: &["purchases in USDC"],
        effect: ErasureEffect::Stays(
            "they name a wallet and no person, and the same payment must get the same answer at any time",
        ),
    },
    Place {
        names: &["Stripe"],
        effect: ErasureEffect::ByHand(
            "the session has the question and the address: redact the customer in the dashboard",
        ),
    },
];

/// The steps that the operator has to do by hand.
pub fn by_hand() -> impl Iterator<Item = (&'static str, &'static str)> {
    PLACES.iter().filter_map(|place| match place.effect {
        ErasureEffect::ByHand(how) => Some((*place.names.first()?, how)),
        ErasureEffect::Emptied(_)
        | ErasureEffect::HoldsNone(_)
        | ErasureEffect::Expires(_)
        | ErasureEffect::Stays(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_store_belongs_to_one_place() {
        let emptied = PLACES.iter().flat_map(|place| match place.effect {
            ErasureEffect::Emptied(stores) => stores.to_vec(),
            _ => Vec::new(),
        });
        let mut emptied: Vec<Store> = emptied.collect();
        emptied.sort();
        assert_eq!(emptied, Store::ALL);
    }

    /// Inquiries, their acknowledgements and bounces name no sale, so no command finds them.
    #[test]
    fn the_steps_by_hand_include_what_no_command_finds_in_the_mailbox() {
        assert!(by_hand().any(|(place, how)| place.contains("the mailbox") && how.contains("purge")));
    }

    /// Inbox-watch tells the ops topic each incoming mail's sender and subject.
    #[test]
    fn no_place_that_a_line_about_a_mail_reaches_is_said_to_hold_no_address() {
        let reached =
            ["OpsTopic", "AlertDeadLetters", "operators' own mailboxes", "the service behind AlertWebhookUrl"];
        for name in reached {
            let effects: Vec<ErasureEffect> =
                PLACES.iter().filter(|place| place.covers(name)).map(|place| place.effect).collect();
            assert!(
                matches!(effects[..], [ErasureEffect::Expires(_) | ErasureEffect::ByHand(_)]),
                "{name}: {effects:?}"
            );
        }
    }

    #[test]
    fn a_place_covers_its_resources_and_a_star_covers_every_beginning() {
        let place = Place { names: &["Table", "*Queue"], effect: ErasureEffect::ByHand("x") };
        assert!(place.covers("Table") && place.covers("OrdersQueue") && place.covers("Queue"));
        assert!(!place.covers("Tables") && !place.covers("QueueOrders") && !place.covers("ATable"));
    }
}

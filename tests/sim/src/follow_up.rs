//! The follow-up that a customer of a Strategy Session orders. It is a sale of its own, so the simulation has a
//! customer for it, who neither comes nor pays.

/// How a customer orders a follow-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// With the box on the result page.
    Page,
    /// With a reply to the verdict's mail.
    Reply,
    /// Both.
    Both,
}

/// What a customer asks in a follow-up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Text {
    pub(crate) text: String,
    /// Whether the authority gate lets it be sold as a follow-up to the first question.
    pub(crate) is_sold: bool,
}

/// What a message in the inbox is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Said {
    /// The buyer asks the text of this number.
    Asks(usize),
    /// The buyer's mailbox answers by itself.
    OutOfOffice,
    /// The buyer writes nothing above the quotation.
    Nothing,
    /// The text of this number comes from an address that is not the buyer's.
    Stranger(usize),
    /// The text of this number comes from the buyer's address, and DMARC fails.
    Unvouched(usize),
}

/// A message that was put into the inbox.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    pub(crate) id: String,
    pub(crate) said: Said,
}

/// What is special about a follow-up.
#[derive(Clone, Debug)]
pub(crate) struct FollowUp {
    /// The customer whose sale includes it.
    pub(crate) of: usize,
    pub(crate) way: Way,
    /// What the customer asks: the second text after the first was refused, or as a second follow-up.
    pub(crate) texts: [Text; 2],
    /// Whether the customer has asked on the page, and whether by mail.
    pub(crate) has_posted: bool,
    pub(crate) has_written: bool,
    /// The customer's messages in the inbox.
    pub(crate) written: Vec<Written>,
}

impl FollowUp {
    /// The text of this number.
    pub(crate) fn text(&self, number: usize) -> &Text {
        &self.texts[number.min(1)]
    }

    /// Whether a text is one of the customer's.
    pub(crate) fn find(&self, text: &str) -> Option<&Text> {
        self.texts.iter().find(|known| known.text == text)
    }
}

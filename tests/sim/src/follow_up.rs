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

/// The follow-ups of these customers, numbered after them.
pub(crate) fn draw(customers: &[Customer], random: &mut Random) -> Vec<Customer> {
    let mut drawn = Vec::new();
    for buyer in customers.iter().filter(|buyer| buyer.tier == Tier::Strategy) {
        if !random.chance(750) {
            continue;
        }
        let way = match random.below(5) {
            0..=1 => Way::Page,
            2..=3 => Way::Reply,
            _ => Way::Both,
        };
        let first = match random.below(100) {
            0..=7 => format!("Does the {HELD_TERM} say so of shop number {} too?", buyer.number),
            8..=19 => governed(random.pick(&GOVERNED).unwrap_or_default(), "Asked again", buyer.number),
            _ => format!("And if shop number {} opens in autumn instead?", buyer.number),
        };
        let answer = Answer::draw(random);
        let fickle = random.chance(500);
        let follow_up = of(buyer, customers.len() + drawn.len(), way, first);
        drawn.push(Customer { answer, fickle, ..follow_up });
    }
    drawn
}

/// The follow-up of a customer, as that of any sale that goes well.
pub(crate) fn of(buyer: &Customer, number: usize, way: Way, first: String) -> Customer {
    let text = |text: String| {
        let evaluation = authority::evaluate_followup(&[&buyer.question], &text, None);
        Text { is_sold: evaluation.state().is_sold(), text }
    };
    let second = format!("And if the rent of shop number {} doubles?", buyer.number);
    let texts = [text(first), text(second)];
    let (question, is_sold) = (texts[0].text.clone(), texts[0].is_sold);
    let follow_up =
        FollowUp { of: buyer.number, way, texts, has_posted: false, has_written: false, written: Vec::new() };
    Customer {
        number,
        tier: Tier::Strategy,
        answer: Answer::Good,
        payment: Payment::Card,
        by_link: false,
        unusable: false,
        question,
        is_sold,
        session: None,
        paid_at: None,
        fickle: false,
        follow_up: Some(follow_up),
        ..buyer.clone()
    }
}

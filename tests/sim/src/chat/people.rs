//! The people of a world, and their next actions.

use domain::chat::PaidPlan;
use testkit::Random;

/// One person: an address in several spellings, and browsers that may be signed in.
#[derive(Clone, Debug)]
pub(super) struct Person {
    pub(super) spellings: Vec<String>,
    pub(super) browsers: Vec<Browser>,
    /// The numbers of the exchanges that this person has begun.
    pub(super) exchanges: Vec<u64>,
    /// The plan that this person buys, if any.
    pub(super) buys: Option<PaidPlan>,
    /// How often this person erases, in thousandths of their actions.
    erases: u64,
}

/// The cookies of a browser.
#[derive(Clone, Debug, Default)]
pub(super) struct Browser {
    /// The cookie of the pending login.
    pub(super) asking: Option<String>,
    /// The cookie of the session.
    pub(super) session: Option<String>,
}

/// The next action of a person in a signed-in browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    Ask,
    AskAgain(u64),
    AskOther(u64),
    Look(u64),
    Me,
    Export,
    Erase,
    Subscribe(PaidPlan),
    Portal,
    SignOut,
    SignOutEverywhere,
}

/// Draws one to three people.
pub(super) fn draw(random: &mut Random) -> Vec<Person> {
    let many = usize::try_from(random.between(1, 3)).unwrap_or(1);
    let person = |number: usize, random: &mut Random| {
        let buys = match random.below(10) {
            0..4 => None,
            4..8 => Some(PaidPlan::Chat),
            _ => Some(PaidPlan::Pro),
        };
        let spellings = vec![
            format!("some.one{number}@gmail.com"),
            format!("SomeOne{number}+chat@googlemail.com"),
            format!("someone{number}@gmail.com"),
        ];
        let browsers = vec![Browser::default(); usize::try_from(random.between(1, 2)).unwrap_or(1)];
        let erases = if random.chance(300) { 90 } else { 15 };
        Person { spellings, browsers, exchanges: Vec::new(), buys, erases }
    };
    (0..many).map(|number| person(number, random)).collect()
}

impl Person {
    /// The cookies of the sessions in a browser, or in all of the person's.
    pub(super) fn sessions(&self, browser: usize, everywhere: bool) -> Vec<String> {
        let browsers = self.browsers.iter().enumerate().filter(|(number, _)| everywhere || *number == browser);
        browsers.filter_map(|(_, browser)| browser.session.clone()).collect()
    }

    /// Draws the next action.
    pub(super) fn act(&self, random: &mut Random) -> Act {
        if random.chance(self.erases) {
            return Act::Erase;
        }
        let known = random.pick(&self.exchanges);
        match (random.below(100), known, self.buys) {
            (0..30, Some(known), _) => Act::AskAgain(known),
            (30..34, Some(known), _) => Act::AskOther(known),
            (34..46, Some(known), _) => Act::Look(known),
            (46..50, ..) => Act::Me,
            (50..54, ..) => Act::Export,
            (54..64, _, Some(plan)) => Act::Subscribe(plan),
            (64..66, ..) => Act::Portal,
            (66, ..) => Act::SignOut,
            _ => Act::Ask,
        }
    }
}

/// A message that the authority gate declines. It must leave no trace.
pub(super) const DISCLOSURE: &str = "I want to kill myself";

/// The message of an exchange: a unique text.
pub(super) fn text(exchange: u64) -> String {
    format!("Should we open a second bakery in street {}?", word(exchange))
}

/// A word of letters that identifies an exchange: no other exchange's word contains it.
pub(super) fn word(exchange: u64) -> String {
    let letters = |number: u64| format!("{number:04}").bytes().map(|digit| char::from(digit - b'0' + b'a')).collect();
    let letters: String = letters(exchange);
    format!("Qx{letters}zQ")
}

/// The client's id of an exchange.
pub(super) fn id(exchange: u64) -> String {
    format!("00000000-0000-4000-8000-{exchange:012}")
}

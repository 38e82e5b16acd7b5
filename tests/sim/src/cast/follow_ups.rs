//! The customers that represent follow-ups.

use super::{Customer, Payment};
use crate::{
    answer::{Answer, HELD_TERM},
    follow_up::{FollowUp, Text, Way},
    governed::{GOVERNED, governed},
};
use domain::Tier;
use testkit::Random;

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

/// A follow-up of a customer that gets a good verdict.
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

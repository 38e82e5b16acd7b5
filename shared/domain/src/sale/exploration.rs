//! Makes the real transitions of a sale, and of a follow-up's sale, and checks that no state is a dead end.
//!
//! A state is an abstracted sale. Each time is reduced to its side of `NOW`: leases are held or expired, mails are due
//! or not yet, an order or a regeneration is recent or old. One step makes all that time pass. The holder of a claim is
//! always renamed to `HOLDER`, because only whether there is a holder matters. Data that no transition reads (hashes,
//! tags) is left out.
//!
//! Four walks visit every state that a part of the steps reaches. The product of all steps has too many states, so
//! [`random`] takes many paths through it, from both kinds of sale.

mod abstraction;
mod random;
mod steps;

use super::*;
use crate::open_work::Work;
use abstraction::{normal, time_passes};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use steps::{Actor, Step, steps};

const LONG_AGO: Timestamp = Timestamp::from_seconds(0);
const NOW: Timestamp = Timestamp::from_seconds(10_000_000);
const SOON: Timestamp = Timestamp::from_seconds(10_000_001);
const LEASE: Duration = Duration::from_secs(1);
const HOLDER: &str = "holder";
const OTHER: &str = "other";
/// The steps that a walk takes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Walk {
    /// From the order to the mails of a usable sale, with or without a regeneration; the money is kept.
    Delivery,
    /// A sale whose session is unusable, and the effects of its customer's reply; the money is kept.
    Drop,
    /// Refunds and disputes at every point of a simple delivery, also of a follow-up, whose money is its session's.
    Money,
    /// Waiting records and alerts, replies, reminders, the smoke test.
    Attention,
}
/// One walk: its states, and the transitions between them.
struct Graph {
    states: Vec<Sale>,
    /// From, to, and whether a function makes it without outside input.
    edges: Vec<(usize, usize, bool)>,
}

/// The pairs of states that each transition connects, by its name and maker.
type Rows = BTreeMap<(Actor, &'static str), BTreeSet<(&'static str, &'static str, &'static str)>>;

fn explore(walk: Walk) -> (Graph, Rows) {
    let mut rows = Rows::new();
    let steps: Vec<Step> = steps().into_iter().filter(|step| step.walks.contains(&walk)).collect();
    let key = |sale: &Sale| serde_json::to_string(sale).unwrap();
    let firsts = firsts().into_iter().take(if walk == Walk::Money { 2 } else { 1 });
    let first: Vec<Sale> = firsts.map(|sale| normal(sale, walk)).collect();
    let mut known: HashMap<String, usize> = first.iter().enumerate().map(|(state, sale)| (key(sale), state)).collect();
    let mut waiting = VecDeque::from_iter(0..first.len());
    let mut graph = Graph { states: first, edges: Vec::new() };
    while let Some(from) = waiting.pop_front() {
        let before = graph.states[from].clone();
        let mut reach = |graph: &mut Graph, sale: Sale, by_machine: bool| {
            let sale = normal(sale, walk);
            if sale == before {
                graph.edges.push((from, from, by_machine));
                return;
            }
            let next = graph.states.len();
            let to = *known.entry(key(&sale)).or_insert(next);
            if to == next {
                graph.states.push(sale);
                waiting.push_back(to);
            }
            graph.edges.push((from, to, by_machine));
        };
        // Used for one step after another: a refused step changes nothing.
        let mut sale = before.clone();
        for step in &steps {
            if !take(step, &before, &mut sale) {
                continue;
            }
            add_transitions(rows.entry((step.actor, step.name)).or_default(), &before, &sale);
            let sale = std::mem::replace(&mut sale, before.clone());
            let by_machine = step.is_by_machine() && !is_sent_unordered(&before, &sale);
            reach(&mut graph, sale, by_machine);
        }
        let mut later = before.clone();
        time_passes(&mut later);
        reach(&mut graph, later, true);
    }
    (graph, rows)
}

/// A new sale, and that of a follow-up.
fn firsts() -> [Sale; 2] {
    let sale = Sale::ordered(SessionId::parse("cs_1").unwrap(), LONG_AGO);
    let followup = sale.ordered_followup(LONG_AGO);
    [sale, followup]
}

/// Takes a step; false when it was refused, which must change nothing. Only the holder of a claim may take one that
/// needs the claim.
fn take(step: &Step, before: &Sale, sale: &mut Sale) -> bool {
    if step.held {
        assert!(!(step.take)(sale, OTHER), "{} without a claim in {before:?}", step.name);
        assert_eq!(sale, before, "{} was refused and changed the sale", step.name);
    }
    let is_taken = (step.take)(sale, HOLDER);
    assert!(is_taken || sale == before, "{} was refused and changed {before:?}", step.name);
    is_taken
}

/// Whether the step claimed a mail that was not recorded as ordered. Its message may be in the queue before that is
/// recorded, but nobody may rely on it.
fn is_sent_unordered(before: &Sale, after: &Sale) -> bool {
    let is_claimed = |letter| matches!(after.letter(letter), Mail::Sending { .. });
    Letter::ALL.into_iter().any(|letter| before.letter(letter).is_not_ordered() && is_claimed(letter))
}

fn add_transitions(row: &mut BTreeSet<(&'static str, &'static str, &'static str)>, before: &Sale, after: &Sale) {
    let mut add = |what, from: &'static str, to: &'static str| {
        if from != to {
            row.insert((what, from, to));
        }
    };
    add("verdict", before.fulfilment.as_str(), after.fulfilment.as_str());
    add("money", before.money.as_str(), after.money.as_str());
    for letter in Letter::ALL {
        add("mail", before.letter(letter).as_str(), after.letter(letter).as_str());
    }
}

/// Whether no work is left: the customer has the verdict, or the money is not ours, or the session was never paid.
fn has_ended(sale: &Sale) -> bool {
    let delivered =
        matches!(sale.fulfilment, Fulfilment::Ready { .. }) && matches!(sale.mail, Mail::Sent { .. } | Mail::NoAddress);
    let never_paid = sale.not_paid() == Some(NotPaid::Over);
    let is_over = delivered || never_paid || sale.is_declined_for_good() || sale.is_erased();
    sale.open_work().is_none() && (is_over || !sale.is_money_kept() || sale.smoke)
}

fn is_machines_work(sale: &Sale) -> bool {
    sale.open_work().is_some_and(|open| matches!(open.work, Work::InFlight | Work::Refund | Work::Erasure))
}

/// The states from which these steps lead to one of `ends`.
fn leads_to(graph: &Graph, ends: impl Fn(&Sale) -> bool, by_machine: bool) -> Vec<bool> {
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); graph.states.len()];
    for (from, to, machine) in &graph.edges {
        if *machine || !by_machine {
            before[*to].push(*from);
        }
    }
    let mut leads: Vec<bool> = graph.states.iter().map(ends).collect();
    let mut waiting: Vec<usize> = (0..leads.len()).filter(|state| leads[*state]).collect();
    while let Some(state) = waiting.pop() {
        for from in &before[state] {
            if !leads[*from] {
                leads[*from] = true;
                waiting.push(*from);
            }
        }
    }
    leads
}

/// Every walk that visits all its states, with the rows of the table.
fn all() -> (Vec<Graph>, Rows) {
    let walks = [Walk::Delivery, Walk::Drop, Walk::Money, Walk::Attention];
    let explored = std::thread::scope(|scope| {
        walks.map(|walk| scope.spawn(move || explore(walk))).map(|thread| thread.join().unwrap())
    });
    let mut rows = Rows::new();
    let mut graphs = Vec::new();
    for (graph, found) in explored {
        graphs.push(graph);
        for (name, pairs) in found {
            rows.entry(name).or_default().extend(pairs);
        }
    }
    (graphs, rows)
}

fn table(rows: &Rows) -> String {
    let mut table = "//! | transition | made by | verdict | mail | money |\n//! |---|---|---|---|---|\n".to_owned();
    for ((actor, name), pairs) in rows {
        let column = |wanted: &str| {
            let mut by_end: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
            for (_, from, to) in pairs.iter().filter(|(what, ..)| *what == wanted) {
                by_end.entry(to).or_default().push(from);
            }
            let cells: Vec<String> = by_end.iter().map(|(to, from)| format!("{} → {to}", from.join(", "))).collect();
            cells.join("; ")
        };
        let cells = [name, actor.as_str(), &column("verdict"), &column("mail"), &column("money")];
        table.push_str(&format!("//! | {} |\n", cells.join(" | ")));
    }
    table.replace("|  |", "| |").replace("|  |", "| |")
}

/// The files with a sale's methods.
const FILES: [(&str, &str); 18] = [
    ("mod", include_str!("mod.rs")),
    ("attention", include_str!("attention.rs")),
    ("authority_decision", include_str!("authority_decision.rs")),
    ("decisions", include_str!("decisions.rs")),
    ("declined", include_str!("declined.rs")),
    ("erasure", include_str!("erasure.rs")),
    ("event", include_str!("event.rs")),
    ("facts", include_str!("facts.rs")),
    ("finding", include_str!("finding.rs")),
    ("followup", include_str!("followup.rs")),
    ("fulfilment", include_str!("fulfilment.rs")),
    ("letters", include_str!("letters.rs")),
    ("not_paid", include_str!("not_paid.rs")),
    ("open_work", include_str!("open_work.rs")),
    ("payment", include_str!("payment.rs")),
    ("refused", include_str!("refused.rs")),
    ("replies", include_str!("replies.rs")),
    ("trail", include_str!("trail.rs")),
];

/// The methods of a sale that change it, or return an event: all that may be in the table.
fn methods() -> BTreeSet<String> {
    let declared = FILES[0].1.split("#[cfg(test)]").next().unwrap_or_default().lines();
    let modules = declared.filter_map(|line| line.trim_start_matches("pub ").strip_prefix("mod ")?.strip_suffix(';'));
    assert_eq!(FILES.map(|(name, _)| name)[1..], modules.collect::<Vec<_>>());
    let mut methods = BTreeSet::new();
    for (_, text) in FILES {
        let text = text.split("#[cfg(test)]").next().unwrap_or_default();
        // The methods of a trait have no `pub`.
        let starts = ["\n    pub ", "\n    pub(crate) ", "\n    fn trail"].map(|start| text.match_indices(start));
        for (start, _) in starts.into_iter().flatten() {
            // A constant ends at its semicolon, so the method after it is not taken for its signature.
            let signature = text[start..].split(['{', ';']).next().unwrap_or_default();
            let Some((_, after)) = signature.split_once("fn ") else { continue };
            let returned = signature.split_once("->").map_or("", |(_, returned)| returned);
            if signature.contains("mut self") || (signature.contains("self") && returned.contains("Event")) {
                methods.insert(after.split(['(', '<']).next().unwrap_or_default().to_owned());
            }
        }
    }
    methods
}

#[test]
fn every_transition_is_explored() {
    let explored: BTreeSet<String> = steps()
        .iter()
        .flat_map(|step| step.name.split(" (").next().unwrap_or_default().split(", "))
        .map(str::to_owned)
        .collect();
    assert_eq!(methods(), explored);
}

#[test]
fn no_state_is_a_dead_end_and_the_table_shows_every_transition() {
    let (graphs, mut rows) = all();
    for (name, pairs) in &random::walks().rows {
        rows.entry(*name).or_default().extend(pairs);
    }
    let mut reached = (0, 0);
    for graph in &graphs {
        reached = (reached.0 + graph.states.len(), reached.1 + graph.edges.len());
        let ends = leads_to(graph, has_ended, false);
        // Automatic work ends without help, or reaches a human's list.
        let worked = leads_to(graph, |sale| !is_machines_work(sale), true);
        for (state, sale) in graph.states.iter().enumerate() {
            assert!(has_ended(sale) || sale.open_work().is_some(), "nobody's work: {sale:?}");
            assert!(ends[state], "no end follows: {sale:?}");
            assert!(worked[state], "machines cannot end their work: {sale:?}");
        }
    }
    println!("{} states, {} steps, {} transitions in the table", reached.0, reached.1, rows.len());
    for step in steps() {
        assert!(rows.contains_key(&(step.actor, step.name)), "{} by {:?} is never made", step.name, step.actor);
    }
    let documented: String = include_str!("mod.rs")
        .lines()
        .filter(|line| line.starts_with("//! |"))
        .map(|line| format!("{line}\n"))
        .collect();
    let table = table(&rows);
    assert!(documented == table, "the table of sale/mod.rs is not that of the transitions:\n{table}");
}

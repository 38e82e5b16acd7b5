//! Finds purchases in a world, and says what each of them is.

use super::*;
use domain::toll::{Answered, Claimed, Offer, Paid, PaidBy, purchase_id};
use testkit::World;

const NOW: Timestamp = Timestamp::from_seconds(1_700_000_000);

fn transferred(digit: &str) -> Purchase {
    let paid = Paid::Transferred { transaction: "0xab".to_owned(), payer: "0x1".to_owned(), network: "n".to_owned() };
    let id = purchase_id(&digit.repeat(64)).unwrap();
    Purchase::new(id, Offer::Query, "f".to_owned(), "q".to_owned(), paid, NOW)
}

fn owed() -> Purchase {
    let mut owed = transferred("a");
    owed.settled("0xab", true, NOW).unwrap();
    owed
}

fn doubtful() -> Purchase {
    let signed = domain::toll::SignedPayment {
        version: 2,
        payload: Value::Null,
        requirements: Value::Null,
        network: "n".to_owned(),
        amount: 50_000,
        payer: "0x1".to_owned(),
        nonce: "0x2".to_owned(),
        valid_before: NOW.plus(Duration::from_secs(300)),
    };
    let id = purchase_id(&"b".repeat(64)).unwrap();
    let paid = Paid::Signed(Box::new(signed));
    let mut sold = Purchase::new(id, Offer::Query, "f".to_owned(), "q".to_owned(), paid, NOW);
    assert_eq!(sold.claim("one", NOW, Duration::from_secs(30), Value::Null), Claimed::Granted);
    let answer = Answered { body: "{}".to_owned(), facts: Value::Null, at: NOW };
    sold.answer("one", answer, NOW).unwrap();
    sold.settled("0xcd", false, NOW).unwrap();
    assert_eq!(sold.doubt(NOW.plus(Duration::from_secs(3600))), Ok(true));
    sold
}

fn found(world: &World, wanted: &str, since: &str) -> usize {
    wait(find(world, world, wanted, since)).unwrap().len()
}

/// The log is searched from a day on, and money that is owed has waited for longer.
#[test]
fn what_waits_for_a_human_is_found_however_old_it_is() {
    let world = World::at(NOW);
    let (owed, doubtful) = (owed(), doubtful());
    for purchase in [&owed, &doubtful] {
        world.state().purchases.insert(purchase.id().clone(), (purchase.clone(), 1));
        assert_eq!(found(&world, purchase.id().reference(), "2024-03-01"), 1);
    }
    assert_eq!(found(&world, "0xcd", "2024-03-01"), 1);
    assert_eq!(found(&world, "0xef", "2024-03-01"), 0);
}

/// A page of the schedule's list has two here, and a hundred in the table.
#[test]
fn everything_that_waits_for_a_human_is_listed() {
    let world = World::at(NOW);
    for digit in ["a", "b", "c"] {
        let mut owed = transferred(digit);
        owed.settled("0xab", true, NOW).unwrap();
        world.state().purchases.insert(owed.id().clone(), (owed, 1));
    }
    assert_eq!(wait(waiting(&world)).unwrap().len(), 3);
}

/// While the log fails, the schedule's list has it.
#[test]
fn what_waits_for_a_human_is_listed_while_its_records_wait() {
    let world = World::at(NOW);
    let mut owed = owed();
    let entry = domain::sale::AuditEntry { key: "k".to_owned(), line: "{}".to_owned(), measurements: Vec::new() };
    let head = domain::sale::AuditHead { opened: "2023-11-14".to_owned(), count: 1, hash: "h".to_owned() };
    domain::audit_trail::Audited::trail_mut(&mut owed).append(entry, head);
    world.state().purchases.insert(owed.id().clone(), (owed, 1));
    let listed = |list| wait(listed(&world, list)).unwrap().len();
    assert_eq!((listed(List::Humans), listed(List::Machines)), (1, 0));
    assert_eq!(wait(waiting(&world)).unwrap().len(), 1);
}

#[test]
fn a_purchase_says_what_is_known_of_its_money() {
    let operator = Operator::parse("dana", None).unwrap();
    let why = |purchase: &Purchase| row(purchase)["why"].as_str().unwrap().to_owned();
    let mut sold = doubtful();
    assert!(why(&sold).contains("not confirmed by the chain: look"));
    let change = resolve(&mut sold, &operator, NOW);
    assert!(change.answer && change.effects().is_some_and(|effects| effects.records.len() == 1));
    assert_eq!(why(&sold), "sold, not confirmed by the chain, and dealt with");
    let again = resolve(&mut sold, &operator, NOW);
    assert!(!again.answer && again.effects().is_none(), "the command says so, and records nothing");
    for (untraced, says) in [(false, "nothing was charged"), (true, "look for the money")] {
        let mut lapsed = transferred("c");
        lapsed.lapse(NOW, untraced).unwrap();
        assert!(why(&lapsed).contains(says), "{}", why(&lapsed));
        assert_eq!(resolve(&mut lapsed, &operator, NOW).answer, untraced);
        assert_eq!(why(&lapsed).ends_with("dealt with"), untraced, "{}", why(&lapsed));
    }
    let mut exhausted = transferred("f");
    assert!(why(&exhausted).ends_with("may ask again"));
    while !exhausted.is_exhausted() {
        exhausted.claim("one", NOW, Duration::from_secs(1), Value::Null);
        exhausted.give_up("one", true).unwrap();
    }
    assert!(why(&exhausted).ends_with("no attempt follows"));
    let odd = transferred("d").of_amount(60_000);
    assert_eq!(row(&odd)["amount_usdc"], json!(0.06));
}

/// Otherwise the operator would send one payer the money of another.
#[test]
fn a_transaction_of_several_payers_names_each_with_its_part() {
    let part = |payer: &str, amount| PaidBy { payer: payer.to_owned(), amount };
    let mut owed = transferred("d").of_payers(&[part("0x1", 60_000), part("0x2", 1_000_000)]);
    owed.settled("0xab", true, NOW).unwrap();
    let found = row(&owed);
    assert_eq!((&found["payer"], &found["amount_usdc"]), (&json!("several"), &json!(1.06)));
    let parts = json!([{ "payer": "0x1", "amount_usdc": 0.06 }, { "payer": "0x2", "amount_usdc": 1.0 }]);
    assert_eq!(found["payers"], parts);
    let shown = table(&[found], 120).replace(char::is_whitespace, "");
    assert!(shown.contains("eachpayer'spart") && shown.contains("0.06of0x1;1.0of0x2"), "{shown}");
    assert!(matches(&owed, "0x2") && !matches(&owed, "0x3"));
}

#[test]
fn the_list_has_what_is_paid_without_an_answer_and_what_the_chain_does_not_have_or_show() {
    let mut untraced = transferred("e");
    untraced.lapse(NOW, true).unwrap();
    for (purchases, expected) in [
        (vec![owed(), doubtful(), transferred("c")], vec![r#"["toll",false,"0xcd"]"#, r#"["toll",true,"0xab"]"#]),
        (vec![untraced], vec![r#"["toll",true,"0xab"]"#]),
    ] {
        let world = World::at(NOW);
        for purchase in purchases {
            world.state().purchases.insert(purchase.id().clone(), (purchase, 1));
        }
        let waiting = wait(waiting(&world)).unwrap();
        let rows = serde_json::to_value(&waiting).unwrap();
        let facts = |row: &Value| json!([row["work"], row["overdue"], row["transaction"]]);
        let mut found: Vec<_> = rows.as_array().unwrap().iter().map(|row| facts(row).to_string()).collect();
        found.sort();
        assert_eq!(found, expected);
        assert!(waiting_table(&waiting, 120).contains("money"));
    }
}

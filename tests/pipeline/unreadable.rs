//! Bodies of a queue that are no message, and messages that keep failing.

use aws_lambda_events::event::sqs::{SqsBatchResponse, SqsEvent, SqsMessage};
use domain::{
    Timestamp,
    message::{Message, OrderedBy},
};
use runtime::{Handled, Redelivery, each_message};
use std::time::Duration;
use testkit::{Fault, Plan, World};

fn batch(bodies: &[&str]) -> SqsEvent {
    let mut batch = SqsEvent::default();
    for (index, body) in bodies.iter().enumerate() {
        let mut record = SqsMessage::default();
        record.message_id = Some(format!("m{index}"));
        record.receipt_handle = Some(format!("r{index}"));
        record.body = Some((*body).to_owned());
        batch.records.push(record);
    }
    batch
}

fn delivered(world: &World, bodies: &[&str]) -> (SqsBatchResponse, usize) {
    let queue = world.queue("notices");
    let redelivery = Redelivery { queue: &queue, dead_letters: &queue, clock: world, randomness: world, meter: world };
    let mut handled = 0;
    let response = testkit::run(each_message(batch(bodies), redelivery, |_| {
        handled += 1;
        std::future::ready(Handled::Done)
    }));
    (response.unwrap(), handled)
}

fn order() -> String {
    let session = domain::SessionId::parse("cs_test_a1simulatedsession0001").unwrap();
    let order = Message::order(session, Timestamp::from_seconds(1_000), OrderedBy::Webhook);
    serde_json::to_string(&order).unwrap()
}

#[test]
fn an_unreadable_body_is_a_dead_letter_at_once_and_holds_up_no_other() {
    let world = World::at(Timestamp::from_seconds(1_000));
    let (response, handled) = delivered(&world, &["{\"kind\":\"riddle\"}", &order(), "no JSON"]);
    assert!(response.batch_item_failures.is_empty(), "SQS deletes all three");
    assert_eq!(handled, 1);
    let state = world.state();
    let kept = [("notices", "{\"kind\":\"riddle\"}".to_owned()), ("notices", "no JSON".to_owned())];
    assert_eq!(state.put_aside, kept, "byte for byte");
    assert!(state.hidden.is_empty());
}

#[test]
fn an_unreadable_body_stays_in_its_queue_while_the_dead_letters_do_not_take_it() {
    let world = World::at(Timestamp::from_seconds(1_000));
    world.plan(Plan::none().whenever("queue.put_aside", Fault::Fail));
    let (response, _) = delivered(&world, &["no JSON"]);
    let failures: Vec<_> = response.batch_item_failures.iter().map(|failure| &*failure.item_identifier).collect();
    assert_eq!(failures, ["m0"]);
    let hidden: Vec<_> = world.state().hidden.iter().map(|(name, handle, _)| (*name, handle.clone())).collect();
    assert_eq!(hidden, [("notices", "r0".to_owned())]);
    assert!(world.state().hidden[0].2 >= Duration::from_secs(1) && world.state().put_aside.is_empty());
}

#[test]
fn a_message_that_keeps_failing_is_counted_for_its_alarm() {
    let counted = |receives: u32, handled: Handled| {
        let world = World::at(Timestamp::from_seconds(1_000));
        let mut batch = batch(&[&order()]);
        batch.records[0].attributes.insert("ApproximateReceiveCount".to_owned(), receives.to_string());
        let redelivery =
            Redelivery { queue: &world, dead_letters: &world, clock: &world, randomness: &world, meter: &world };
        testkit::run(each_message(batch, redelivery, |_| std::future::ready(handled))).unwrap();
        world.state().measured(domain::Metric::MessageKeepsFailing)
    };
    assert_eq!([1, 19, 20, 200].map(|receives| counted(receives, Handled::Later)), [0, 0, 1, 1]);
    let waits = Handled::At(Timestamp::from_seconds(2_000));
    assert_eq!([Handled::Done, waits].map(|handled| counted(20, handled)), [0, 0]);
}

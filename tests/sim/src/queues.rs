//! The queues, as SQS keeps them: at least once, in any order, a visibility time-out, a receive count, and a
//! dead-letter queue for what was received too often.

use crate::faults::SECOND;
use std::collections::BTreeMap;

/// SQS refuses longer delays.
#[cfg(test)]
pub(crate) const MAX_DELAY: i64 = 900 * SECOND;

/// Lambda stops a chain of queue and function after 16; the design stays far below.
pub(crate) const MAX_HOPS: u32 = 8;

/// The queues by name, with their visibility time-outs and after how many receives a message moves to
/// the dead-letter queue (`maxReceiveCount`), as in the template.
pub(crate) const QUEUES: [(&str, i64, u32); 5] = [
    ("orders", 1080 * SECOND, 300),
    ("email", 540 * SECOND, 300),
    ("email-retry", 540 * SECOND, 300),
    ("notices", 360 * SECOND, 200),
    ("payments", 360 * SECOND, 200),
];

/// A message in a queue.
#[derive(Clone, Debug)]
pub(crate) struct Waiting {
    pub(crate) body: String,
    /// The customer of its sale; `None` for an unreadable body.
    pub(crate) customer: Option<usize>,
    /// How often it was received.
    pub(crate) receives: u32,
    /// When it becomes visible.
    pub(crate) visible_at: i64,
    /// How many messages led to this one, itself included.
    pub(crate) hops: u32,
}

/// The result of an attempt to receive.
#[derive(Debug)]
pub(crate) enum Received {
    /// It must be handled now; its receive count includes this receive.
    Delivered(Waiting),
    /// It was received too often.
    GivenUp(Waiting),
    /// It is gone, or not visible now.
    Nothing,
}

/// One queue.
#[derive(Debug)]
pub(crate) struct Queue {
    pub(crate) visibility: i64,
    pub(crate) max_receives: u32,
    waiting: BTreeMap<u64, Waiting>,
    /// The dead-letter queue; it has an alarm.
    pub(crate) dead: Vec<Waiting>,
}

impl Queue {
    pub(crate) const fn new(visibility: i64, max_receives: u32) -> Self {
        Self { visibility, max_receives, waiting: BTreeMap::new(), dead: Vec::new() }
    }

    pub(crate) fn put(&mut self, id: u64, message: Waiting) {
        self.waiting.insert(id, message);
    }

    /// A message, whether it is visible or not.
    pub(crate) fn get(&self, id: u64) -> Option<&Waiting> {
        self.waiting.get(&id)
    }

    /// Receives a message that becomes visible at `now`.
    pub(crate) fn receive(&mut self, id: u64, now: i64) -> Received {
        match self.waiting.get_mut(&id) {
            Some(message) if message.visible_at <= now => {
                if message.receives >= self.max_receives {
                    return self.waiting.remove(&id).map_or(Received::Nothing, |message| {
                        self.dead.push(message.clone());
                        Received::GivenUp(message)
                    });
                }
                message.receives += 1;
                message.visible_at = now + self.visibility;
                Received::Delivered(message.clone())
            }
            _ => Received::Nothing,
        }
    }

    /// Hides a message until this time.
    pub(crate) fn hide(&mut self, id: u64, until: i64) {
        if let Some(message) = self.waiting.get_mut(&id) {
            message.visible_at = until;
        }
    }

    /// Deletes a message.
    pub(crate) fn delete(&mut self, id: u64) {
        self.waiting.remove(&id);
    }

    /// Whether a message about this customer waits.
    pub(crate) fn has(&self, customer: usize) -> bool {
        self.waiting.values().any(|waiting| waiting.customer == Some(customer))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Takes everything out of the dead-letter queue.
    pub(crate) fn take_dead(&mut self) -> Vec<Waiting> {
        std::mem::take(&mut self.dead)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(visible_at: i64) -> Waiting {
        Waiting { body: "{}".to_owned(), customer: None, receives: 0, visible_at, hops: 1 }
    }

    #[test]
    fn a_message_that_is_never_done_is_given_up_after_ten_receives() {
        let mut queue = Queue::new(1080 * SECOND, 10);
        queue.put(1, message(5));
        assert!(matches!(queue.receive(1, 4), Received::Nothing), "it is delayed");
        let mut now = 5;
        for time in 1..=10 {
            assert!(matches!(queue.receive(1, now), Received::Delivered(Waiting { receives, .. }) if receives == time));
            assert!(matches!(queue.receive(1, now + 1), Received::Nothing), "it is invisible");
            now += 1080 * SECOND;
        }
        assert!(matches!(queue.receive(1, now), Received::GivenUp(_)));
        assert!(queue.is_empty() && queue.dead.len() == 1);
    }

    #[test]
    fn a_message_that_is_done_does_not_come_back() {
        let mut queue = Queue::new(540 * SECOND, 10);
        queue.put(1, message(0));
        queue.receive(1, 0);
        queue.delete(1);
        assert!(matches!(queue.receive(1, MAX_DELAY), Received::Nothing));
    }

    /// The numbers are the template's.
    #[test]
    fn the_queues_are_those_of_the_template() {
        let template = include_str!("../../../template.yaml");
        for (name, visibility, max_receives) in QUEUES {
            let at = template.find(&format!("QueueName: !Sub ${{AWS::StackName}}-{name}\n")).unwrap();
            let queue = &template[at..at + 300];
            assert!(queue.contains(&format!("VisibilityTimeout: {}\n", visibility / SECOND)), "{name}: {queue}");
            assert!(queue.contains(&format!("maxReceiveCount: {max_receives}}}")), "{name}: {queue}");
        }
    }
}

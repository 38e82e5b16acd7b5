//! Records of requests that bought nothing, when many arrive at once.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use async_trait::async_trait;
use audit::FunctionJournal;
use domain::{
    Metric,
    ports::{Notes, SaveError, StorageError, Versioned},
    toll::Offer,
};
use runtime::http::{Reply, Request};
use serde_json::json;
use std::{
    future::{Future, poll_fn},
    pin::Pin,
    task::{Context, Poll, Waker},
};
use support::*;
use testkit::World;
use toll::{Ports, handle};

/// A store whose calls let the other requests go first.
struct Slow<'a>(&'a World);

async fn give_way() {
    let mut has_waited = false;
    let wait = |_: &mut Context<'_>| {
        if std::mem::replace(&mut has_waited, true) { Poll::Ready(()) } else { Poll::Pending }
    };
    poll_fn(wait).await;
}

#[async_trait]
impl Notes for Slow<'_> {
    async fn load(&self, name: &str) -> Result<Versioned<Option<String>>, StorageError> {
        give_way().await;
        Notes::load(self.0, name).await
    }

    async fn save(&self, name: &str, document: &str, expected: u64) -> Result<u64, SaveError> {
        give_way().await;
        Notes::save(self.0, name, document, expected).await
    }
}

/// Handles all requests at once, each a step at a time.
fn handle_at_once(world: &World, requests: Vec<Request>) -> Vec<Reply> {
    let (slow, settings) = (Slow(world), settings());
    let rejections = FunctionJournal { notes: &slow, ..ports(world).rejections };
    let ports = Ports { rejections, ..ports(world) };
    let mut running: Vec<Pin<Box<dyn Future<Output = Reply> + '_>>> = Vec::new();
    for request in requests {
        running.push(Box::pin(handle(ports, &settings, request)));
    }
    let mut replies = Vec::new();
    let mut context = Context::from_waker(Waker::noop());
    while !running.is_empty() {
        running.retain_mut(|request| match request.as_mut().poll(&mut context) {
            Poll::Ready(reply) => {
                replies.push(reply);
                false
            }
            Poll::Pending => true,
        });
    }
    replies
}

/// Signing and asking cost nothing, so anybody can send a burst. Its records are all kept, and no alarm is raised.
#[test]
fn every_request_of_a_burst_is_recorded() {
    let world = world();
    let mut spoiled = payment_for(&world, Offer::Query, 1);
    spoiled["payload"]["authorization"]["value"] = json!("1");
    let burst = |request: &dyn Fn() -> Request| handle_at_once(&world, (0..40).map(|_| request()).collect());
    assert!(burst(&|| paid("/query", QUESTION, &spoiled)).iter().all(|reply| reply.status() == 402));
    assert!(burst(&|| unpaid("/query", "I want to kill myself")).iter().all(|reply| reply.status() == 422));
    let state = world.state();
    for event in ["payment_not_taken", "authority_evaluated"] {
        let name = format!(r#""event":"{event}""#);
        assert_eq!(state.log.values().filter(|line| line.contains(&name)).count(), 40, "{event}");
    }
    assert_eq!(state.counted(Metric::AuditWriteFailed), 0);
}

//! Handlers that run at the same time, each a step at a time.

use crate::World;
use async_trait::async_trait;
use domain::ports::{Notes, SaveError, StorageError, Versioned};
use std::{
    future::{Future, poll_fn},
    task::{Context, Poll, Waker},
};

/// A world's notes, whose calls let the other handlers go first.
pub struct SlowNotes<'a>(pub &'a World);

async fn give_way() {
    let mut has_waited = false;
    let wait = |_: &mut Context<'_>| {
        if std::mem::replace(&mut has_waited, true) { Poll::Ready(()) } else { Poll::Pending }
    };
    poll_fn(wait).await;
}

#[async_trait]
impl Notes for SlowNotes<'_> {
    async fn load(&self, name: &str) -> Result<Versioned<Option<String>>, StorageError> {
        give_way().await;
        Notes::load(self.0, name).await
    }

    async fn save(&self, name: &str, document: &str, expected: u64) -> Result<u64, SaveError> {
        give_way().await;
        Notes::save(self.0, name, document, expected).await
    }
}

/// Polls handlers in turn until all have ended. No fault may crash one of them.
pub fn in_turns<F: Future>(handlers: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    let mut running: Vec<_> = handlers.into_iter().map(Box::pin).collect();
    let (mut ended, mut context) = (Vec::new(), Context::from_waker(Waker::noop()));
    while !running.is_empty() {
        running.retain_mut(|handler| match handler.as_mut().poll(&mut context) {
            Poll::Ready(output) => {
                ended.push(output);
                false
            }
            Poll::Pending => true,
        });
    }
    ended
}

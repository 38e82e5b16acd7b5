//! The queues, from the side of the functions that send.

use super::Ports;
use crate::defects::Defect;
use async_trait::async_trait;
use domain::{
    message::Message,
    ports::{Queue, QueueError, UnreadableMessages, Visibility},
};
use std::time::Duration;
use testkit::world::NamedQueue;

/// One of the world's queues, from the side of the functions that send.
pub(crate) struct Outgoing<'w> {
    queue: NamedQueue<'w>,
    /// What is wrong with this queue.
    defect: Option<Defect>,
}

impl<'w> Outgoing<'w> {
    pub(crate) fn new(ports: Ports<'w>, name: &'static str) -> Self {
        let own = |defect: &Defect| match *defect {
            Defect::QueueErrorSwallowed(of) | Defect::QueueLoses(of) | Defect::QueueMixedUp(of, _) => of == name,
            Defect::UnreadableAcknowledged => true,
            _ => false,
        };
        let defect = ports.defect.filter(own);
        let into = if let Some(Defect::QueueMixedUp(_, other)) = defect { other } else { name };
        Self { queue: ports.world.queue(into), defect }
    }
}

#[async_trait]
impl Visibility for Outgoing<'_> {
    async fn hide(&self, receipt_handle: &str, duration: Duration) -> Result<(), QueueError> {
        self.queue.hide(receipt_handle, duration).await
    }
}

#[async_trait]
impl UnreadableMessages for Outgoing<'_> {
    async fn put_aside(&self, body: &str) -> Result<(), QueueError> {
        match self.defect {
            Some(Defect::UnreadableAcknowledged) => Ok(()),
            _ => self.queue.put_aside(body).await,
        }
    }
}

#[async_trait]
impl Queue for Outgoing<'_> {
    async fn send_after(&self, message: &Message, delay: Duration) -> Result<(), QueueError> {
        match self.defect {
            Some(Defect::QueueLoses(_)) => Ok(()),
            Some(Defect::QueueErrorSwallowed(_)) => {
                let _ = self.queue.send_after(message, delay).await;
                Ok(())
            }
            _ => self.queue.send_after(message, delay).await,
        }
    }
}

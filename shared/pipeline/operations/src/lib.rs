//! What operators decide about sales, as plain functions over ports: the command line asks them, and a simulation
//! can ask them too.
//!
//! Every decision is safe to repeat: the state is saved with its audit record first, the message follows, and
//! whoever repeats a decision whose message was lost only sends the message again. The claims of the functions
//! that receive it make sure that nothing is made or mailed twice.

pub mod cache;
pub mod list;
pub mod operator;
pub mod quarantine;
pub mod reattempt;
pub mod redrive;
pub mod refunds;
pub mod replies;
pub mod settle;
pub mod show;

pub use domain::words::InvalidWords;
pub use operator::Operator;

use audit::Journal;
use domain::{Sale, ports::Versioned};

/// Ends a command: publishes what an earlier step could not, or notes that everything is published.
async fn tidy(journal: Journal<'_>, sale: Versioned<Sale>) {
    if sale.value.outbox.is_empty() && sale.value.alerts.is_empty() {
        journal.settle(sale).await;
    } else {
        journal.flush(sale).await;
    }
}

#[cfg(test)]
mod testing;

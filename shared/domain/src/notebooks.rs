//! The names of the functions' notebooks whose next step no schedule starts: what one of them could not publish would wait
//! for the next request, message or command of its kind. The deadlines function publishes it (infra/decisions/audit-outbox.md).
//! Beside them, the name of that function's own note.

use crate::{deployment, inbox};

/// The streams of evaluations by the checkout function. There are several, so that concurrent requests seldom write to the
/// same item.
pub const CHECKOUT: [&str; 8] =
    ["checkout-1", "checkout-2", "checkout-3", "checkout-4", "checkout-5", "checkout-6", "checkout-7", "checkout-8"];

/// The streams of payments that the toll does not take. There are several for the same reason. The first is the only one
/// of earlier versions.
pub const TOLL_NOT_TAKEN: [&str; 8] = ["toll", "toll-2", "toll-3", "toll-4", "toll-5", "toll-6", "toll-7", "toll-8"];

/// The streams of questions that the toll declines before a payment. They are separate, because anybody may ask at no
/// cost, and the records of payments must not wait for that.
pub const TOLL_DECLINED: [&str; 8] = [
    "toll-declined",
    "toll-declined-2",
    "toll-declined-3",
    "toll-declined-4",
    "toll-declined-5",
    "toll-declined-6",
    "toll-declined-7",
    "toll-declined-8",
];

/// The stream of operators' decisions that belong to no sale.
pub const OPERATORS: &str = "operator";

/// The note of the deadlines function with the time of its last reminder of purchases that wait for a human. It has no
/// stream.
pub const TOLL_REMINDER: &str = "toll-reminder";

/// The notebooks whose next step no schedule starts.
pub fn without_schedule() -> impl Iterator<Item = &'static str> {
    let several = CHECKOUT.into_iter().chain(TOLL_NOT_TAKEN).chain(TOLL_DECLINED);
    several.chain([OPERATORS, inbox::INQUIRIES, deployment::GATE])
}

//! Operators' open tasks on a Bridge and their due times.

use super::{Bridge, BridgeStage, BridgeState};
use crate::Timestamp;
use serde::Serialize;
use std::time::Duration;

/// The time within which an operator answers a message or decides about an acceptance.
pub const ANSWER_WITHIN: Duration = Duration::from_secs(24 * 3600);

crate::enum_with_words! {
    /// A kind of work.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum BridgeTask {
        /// The agreement is accepted: grant access or decline it.
        Decide = "decide",
        /// A customer's message has no reply.
        Answer = "answer",
        /// A reply's mail is not sent: repeat the command that replied.
        Mail = "mail",
    }
    /// The task's name, in lists.
    pub const fn as_str;
}

/// An open task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BridgeWork {
    /// Its kind.
    pub task: BridgeTask,
    /// When it is due.
    pub due: Timestamp,
}

impl Bridge {
    /// The most urgent open task, if there is one.
    #[must_use]
    pub fn work(&self, now: Timestamp) -> Option<BridgeWork> {
        match self.state(now) {
            BridgeState::Offered | BridgeState::Revoked => None,
            BridgeState::Accepted => {
                let BridgeStage::Accepted { acceptance } = &self.stage else { return None };
                Some(BridgeWork { task: BridgeTask::Decide, due: acceptance.at.plus(ANSWER_WITHIN) })
            }
            // The clock ends a grant, and operators owe an answer to what was posted before.
            BridgeState::Granted | BridgeState::Expired => self.unsent().or_else(|| self.to_answer()),
        }
    }

    fn unsent(&self) -> Option<BridgeWork> {
        let post = self.thread.iter().find(|post| post.is_unsent())?;
        Some(BridgeWork { task: BridgeTask::Mail, due: post.at() })
    }

    /// The task to answer the first message without a reply.
    fn to_answer(&self) -> Option<BridgeWork> {
        let post = self.unanswered().next()?;
        Some(BridgeWork { task: BridgeTask::Answer, due: post.at().plus(ANSWER_WITHIN) })
    }
}

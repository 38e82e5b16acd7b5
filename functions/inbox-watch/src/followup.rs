//! A reply that orders the follow-up of a Strategy Session (infra/decisions/followup.md).

use crate::{error::WatchError, watch::Watch};
use domain::{Query, Sale, Tier, inbox::FollowupReply, message::OrderedBy, texts};
use followup::{NotOrdered, Ports, order};

/// So many follow-ups of one sale that the authority gate refuses get an answer of their own; a person reads them all.
const MOST_REFUSED: usize = 5;

/// What a reply asked for.
pub(crate) struct Asked {
    /// What came of it as a follow-up; nothing where it was none.
    pub(crate) reply: Option<FollowupReply>,
    /// What its sender is answered; nothing where any message's acknowledgement will do.
    pub(crate) answer: Option<String>,
}

impl Asked {
    /// Nothing that has to do with a follow-up.
    pub(crate) const fn nothing() -> Self {
        Self { reply: None, answer: None }
    }

    fn answered(reply: FollowupReply, answer: String) -> Self {
        Self { reply: Some(reply), answer: Some(answer) }
    }
}

impl Watch<'_> {
    /// Orders the follow-up with what a reply of the buyer's says, if its sale includes one. Nothing else that a reply
    /// quotes or attaches is read. A run after this one that finds the same reply gives it the same answer.
    pub(crate) async fn follow_up(&self, id: &str, sale: &Sale) -> Result<Asked, WatchError> {
        if sale.tier() != Some(Tier::Strategy) {
            return Ok(Asked::nothing());
        }
        let before = sale.replies().iter().filter(|reply| reply.message != id);
        let counted = |what| before.clone().filter(|reply| reply.followup == Some(what)).count();
        let Some(text) = self.ports.inbox.new_text(id).await? else { return Ok(Asked::nothing()) };
        // No text, or one that is too long: a person reads it.
        let Ok(text) = Query::parse(text.trim()) else { return Ok(Asked::nothing()) };
        let ports = Ports { journal: self.sales(), submissions: self.ports.submissions, orders: self.ports.orders };
        let paid = sale.session_id().paid_session();
        match order(ports, &paid, &text, None, OrderedBy::FollowupReply).await {
            Ok(_) => Ok(Asked::answered(FollowupReply::Ordered, texts::FOLLOWUP_ORDERED.to_owned())),
            Err(NotOrdered::Used) if counted(FollowupReply::Used) == 0 => {
                Ok(Asked::answered(FollowupReply::Used, texts::FOLLOWUP_USED.to_owned()))
            }
            Err(NotOrdered::Refused(refusal)) if counted(FollowupReply::Refused) < MOST_REFUSED => {
                let text = refusal.text();
                let answer = if refusal.crisis { text } else { format!("{text}\n\n{}", texts::FOLLOWUP_NOT_USED) };
                Ok(Asked::answered(FollowupReply::Refused, answer))
            }
            Err(
                NotOrdered::NoSale
                | NotOrdered::Erased
                | NotOrdered::NotOffered
                | NotOrdered::Used
                | NotOrdered::Refused(_),
            ) => Ok(Asked::nothing()),
            Err(error @ (NotOrdered::Storage(_) | NotOrdered::Contended)) => Err(error.into()),
        }
    }
}

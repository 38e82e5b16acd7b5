//! A reply that orders the follow-up of a Strategy Session (infra/decisions/followup.md).

use crate::{error::WatchError, watch::Watch};
use authority::Refusal;
use domain::{Query, Sale, Tier, inbox::FollowupReply, mail::Mail, message::OrderedBy, texts};
use followup::{NotOrdered, Ports, order, refusal, urgent};

/// The number of refused follow-ups per sale that get a specific answer. A person reads all of them.
const MOST_REFUSED: usize = 5;

/// The outcome of reading a reply as a follow-up request.
pub(crate) struct FollowupOutcome {
    /// How it ended as a follow-up; `None` when it is not one.
    pub(crate) reply: Option<FollowupReply>,
    /// The specific answer to its sender; `None` when the general acknowledgement is used.
    pub(crate) answer: Option<String>,
    /// Whether the answer is that of a crisis or an emergency, which no limit but that of refusals withholds.
    pub(crate) is_urgent: bool,
}

impl FollowupOutcome {
    /// The message has nothing to do with a follow-up.
    pub(crate) const fn nothing() -> Self {
        Self { reply: None, answer: None, is_urgent: false }
    }

    fn answered(reply: FollowupReply, answer: String) -> Self {
        Self { reply: Some(reply), answer: Some(answer), is_urgent: false }
    }

    /// Ordered. Only the first reply is answered: an answer to each would keep a machine writing that repeats itself.
    fn ordered(is_first: bool) -> Self {
        let answer = is_first.then(|| texts::FOLLOWUP_ORDERED.to_owned());
        Self { reply: Some(FollowupReply::Ordered), answer, is_urgent: false }
    }

    fn used() -> Self {
        Self::answered(FollowupReply::Used, texts::FOLLOWUP_USED.to_owned())
    }
}

impl Watch<'_> {
    /// Orders the follow-up with the text of the buyer's reply, if the sale includes one and the reply asks for it. Any
    /// other reply that tells of a crisis or an emergency is answered with sources of help. Quoted text and attachments
    /// are not read. A later run that finds the same reply gives it the same answer.
    pub(crate) async fn follow_up(
        &self,
        id: &str,
        sale: &Sale,
        text: Option<&str>,
    ) -> Result<FollowupOutcome, WatchError> {
        if sale.tier() != Some(Tier::Strategy) {
            return Ok(FollowupOutcome::nothing());
        }
        let before = sale.replies().iter().take_while(|reply| reply.message != id);
        let counted = |what| before.clone().filter(|reply| reply.followup == Some(what)).count();
        // A run that stopped before this one may have put the reply on the sale: its outcome stays the same.
        let known = sale.replies().iter().find(|reply| reply.message == id).map(|reply| reply.followup);
        match known {
            Some(None) => return Ok(FollowupOutcome::nothing()),
            Some(Some(FollowupReply::Ordered)) => {
                return Ok(FollowupOutcome::ordered(counted(FollowupReply::Ordered) == 0));
            }
            Some(Some(FollowupReply::Used)) => return Ok(FollowupOutcome::used()),
            Some(Some(FollowupReply::Refused)) | None => {}
        }
        // Without a text, or with one that is empty or too long, a person reads the reply.
        let Some(text) = text.and_then(|text| Query::parse(text.trim()).ok()) else {
            return Ok(FollowupOutcome::nothing());
        };
        let paid = sale.session_id().paid_session();
        let crate::Ports { submissions, orders, meter, .. } = self.ports;
        let ports = Ports { journal: self.sales(), submissions, orders, meter };
        let not_ordered = |refused: Option<Refusal>| {
            refused.map_or(NotOrdered::NotOffered, |refusal| NotOrdered::Refused(Box::new(refusal)))
        };
        let outcome = if known.is_some() {
            // A reply that the sale has as refused orders nothing any more. Its text is evaluated again for its answer;
            // if it is not refused now, a person reads the reply.
            Err(not_ordered(refusal(self.ports.store, &paid, &text).await?))
        } else if asks_for_followup(sale, text.as_str()) {
            order(ports, &paid, &text, None, OrderedBy::FollowupReply).await
        } else {
            Err(not_ordered(urgent(ports, &paid, &text).await?))
        };
        match outcome {
            Ok(_) => Ok(FollowupOutcome::ordered(counted(FollowupReply::Ordered) == 0)),
            Err(NotOrdered::Used) if counted(FollowupReply::Used) == 0 => Ok(FollowupOutcome::used()),
            Err(NotOrdered::Refused(refusal)) if counted(FollowupReply::Refused) < MOST_REFUSED => {
                let (text, is_urgent) = (refusal.text(), refusal.is_urgent());
                let answer = if is_urgent { text } else { format!("{text}\n\n{}", texts::FOLLOWUP_NOT_USED) };
                Ok(FollowupOutcome { is_urgent, ..FollowupOutcome::answered(FollowupReply::Refused, answer) })
            }
            Err(
                NotOrdered::NoSale
                | NotOrdered::Erased
                | NotOrdered::NotOffered
                | NotOrdered::Used
                | NotOrdered::Refused(_),
            ) => Ok(FollowupOutcome::nothing()),
            Err(error @ (NotOrdered::Storage(_) | NotOrdered::Contended)) => Err(error.into()),
        }
    }
}

/// Whether a reply is meant as the follow-up: it asks a question, and the sale has no note about a divergence, which
/// invites questions about itself. A person reads any other reply, because a follow-up that is used cannot be given back.
fn asks_for_followup(sale: &Sale, text: &str) -> bool {
    // A signature may have an address with a question mark.
    let is_address = |word: &str| word.contains("://") || word.contains("www.");
    let asks = text.split_whitespace().any(|word| !is_address(word) && word.contains(['?', '？', '؟']));
    asks && *sale.divergence() == Mail::NotOrdered
}

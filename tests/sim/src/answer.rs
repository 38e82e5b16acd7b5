//! What the model says to a customer's question.

use domain::{
    Tier,
    ports::{ModelError, ModelReply},
};
use serde_json::{Value, json};
use testkit::Random;

/// A term for which the content filter holds a text, and one that it replaces. The checker looks for these words
/// itself, because the filter is under test.
pub(crate) const HELD_TERM: &str = "CSDM";
pub(crate) const REPLACED_TERM: &str = "MNEMOS";

/// The placeholder that a hollow verdict has in place of a text.
pub(crate) const PLACEHOLDER: &str = "[insert the summary here]";

/// What the model says to a customer's question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// A good verdict.
    Good,
    /// One with a term that is replaced.
    Replaced,
    /// One that the filter holds.
    Held,
    /// One that the crosscheck rejects.
    Rejected,
    /// No JSON, ever.
    Prose,
    /// No JSON at first.
    ProseOnce,
    /// Nothing but 503.
    Down,
    /// A verdict with a placeholder in place of a text, ever.
    Hollow,
    /// A hollow verdict at first.
    HollowOnce,
    /// At first a verdict that does not say who should be asked, as the grammar of a narrative answer requires.
    UnreferredOnce,
}

impl Answer {
    /// Whether a reply is final: the model is not asked for another one in the same invocation.
    pub(crate) const fn is_final(self) -> bool {
        match self {
            Self::Good | Self::Replaced | Self::Held | Self::Rejected => true,
            Self::Prose | Self::ProseOnce | Self::Down | Self::Hollow | Self::HollowOnce | Self::UnreferredOnce => {
                false
            }
        }
    }

    /// Whether it may become a verdict without an operator.
    pub(crate) const fn is_sold(self) -> bool {
        match self {
            Self::Good | Self::Replaced | Self::ProseOnce | Self::HollowOnce | Self::UnreferredOnce => true,
            Self::Held | Self::Rejected | Self::Prose | Self::Down | Self::Hollow => false,
        }
    }

    pub(crate) fn draw(random: &mut Random) -> Self {
        let mut answer = Self::Good;
        for (candidate, thousandths) in [
            (Self::Replaced, 80),
            (Self::Held, 80),
            (Self::Rejected, 50),
            (Self::Prose, 30),
            (Self::ProseOnce, 50),
            (Self::Down, 30),
            (Self::Hollow, 30),
            (Self::HollowOnce, 50),
        ] {
            if random.chance(thousandths) {
                answer = candidate;
            }
        }
        answer
    }
}

/// What the grammar of a narrative answer requires, for the governed questions that are sold and those that people may
/// allow: a phrase of law, medicine, finance and benefits.
const REFERRAL: &str = "Ask a lawyer, a physician or a licensed adviser, and apply to the program.";

/// The model's reply to the `call`th request with this question. Every reply differs, as a model's do, so that the
/// checker notices a verdict that was made twice.
pub(crate) fn reply(answer: Answer, tier: Tier, is_fickle: bool, call: u64) -> Result<ModelReply, ModelError> {
    let text = match (answer, call) {
        (Answer::Down, _) => return Err(ModelError::Unavailable(503)),
        (Answer::Prose, _) | (Answer::ProseOnce, 1) => "Certainly! Here is your verdict.".to_owned(),
        (Answer::Rejected, _) => json!({ "verdict": "GREEN" }).to_string(),
        (Answer::Held, _) => verdict(tier, &format!("The {HELD_TERM} likes take {call}.")),
        (Answer::Hollow, _) | (Answer::HollowOnce, 1) => verdict(tier, PLACEHOLDER),
        (Answer::UnreferredOnce, 1) => verdict(tier, "Demand is real in take 1 and the format fits."),
        (Answer::Replaced, _) => verdict(tier, &format!("{REPLACED_TERM} shows demand in take {call}. {REFERRAL}")),
        (_, 2..) if is_fickle && tier == Tier::Quick => {
            let summary = format!("Demand is gone in take {call} and the rent is high. {REFERRAL}");
            json!({ "verdict": "RED", "summary": summary }).to_string()
        }
        _ => verdict(tier, &format!("Demand is real in take {call} and the format fits. {REFERRAL}")),
    };
    Ok(ModelReply { text, model_version: "m-1".to_owned(), status_warning: None })
}

/// The verdict with which an operator replaces a held one.
pub(crate) fn replacement(tier: Tier) -> Value {
    serde_json::from_str(&verdict(tier, &format!("Demand is real and an operator has read it. {REFERRAL}")))
        .unwrap_or_default()
}

fn verdict(tier: Tier, summary: &str) -> String {
    let dimension = |text: &str| json!({ "verdict": "GREEN", "analysis": text });
    let mut verdict = json!({ "verdict": "GREEN", "summary": summary });
    if tier.has_breakdown() {
        verdict["breakdown"] = json!({
            "Stability": dimension("The ground is firm."), "Turbulence": dimension("Competition is mild."),
            "Change Rate": dimension("Things move slowly."), "Completion": dimension("The plan is whole."),
            "Curvature": dimension("Effort pays off."),
        });
    }
    if tier.has_strategy() {
        verdict["strategy"] = json!({
            "next_step": "Sign the lease.", "alternative": "Sell online only.",
            "tests": ["Ask ten customers.", "Run a stall for a week.", "Price it twice."],
        });
    }
    verdict.to_string()
}

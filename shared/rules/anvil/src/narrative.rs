//! The narrative beside the verdict (Brain ANVIL, INV-04): made from the same facts, with no way to change them.

use crate::assessment::{Assessment, Effect};

/// A narrator's input: sentences. It holds no verdict and nothing that could change one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Story {
    subject: String,
    sentences: Vec<(Effect, String)>,
}

/// A narrative and its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Narrative {
    /// Written by a model; the text passed the content filter.
    Model(String),
    /// The fixed text.
    Fixed(String),
}

impl Narrative {
    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::Model(text) | Self::Fixed(text) => text,
        }
    }
}

/// The maximum number of characters: a narrative is one paragraph.
const LONGEST: usize = 2_000;

impl Story {
    /// Copies the facts of an assessment, so that changes to the story do not reach the assessment.
    #[must_use]
    pub fn of(subject: &str, assessment: &Assessment) -> Self {
        let sentences = assessment.reasons().iter().map(|reason| (reason.effect(), reason.text().to_owned()));
        Self { subject: subject.to_owned(), sentences: sentences.collect() }
    }

    /// The model's prompt.
    #[must_use]
    pub fn prompt(&self) -> String {
        let facts = self.sentences.iter().map(|(_, text)| format!("- {text}")).collect::<Vec<_>>().join("\n");
        format!(
            "Tell in one short paragraph, for engineers, what these observations about {} mean. Add no fact and no \
             judgement of your own.\n{facts}",
            self.subject
        )
    }

    /// The narrative: the model's text if it exists and `passes` the filter, otherwise the fixed text.
    pub fn narrative(&self, by_model: Option<String>, passes: impl FnOnce(&str) -> bool) -> Narrative {
        match by_model.map(|text| text.trim().to_owned()) {
            Some(text) if !text.is_empty() && text.chars().count() <= LONGEST && passes(&text) => {
                Narrative::Model(text)
            }
            _ => Narrative::Fixed(self.fixed()),
        }
    }

    fn fixed(&self) -> String {
        let count = |wanted: Effect| self.sentences.iter().filter(|(effect, _)| *effect == wanted).count();
        let first =
            |wanted: Effect| self.sentences.iter().find(|(effect, _)| *effect == wanted).map(|(_, text)| text.as_str());
        let sound = match count(Effect::Sound) {
            0 => "nothing is in order".to_owned(),
            1 => "1 observation is in order".to_owned(),
            count => format!("{count} observations are in order"),
        };
        let mut text = format!("Of {}, {sound}", self.subject);
        for (effect, what) in [
            (Effect::Fault, "at fault"),
            (Effect::Blocked, "not available at present"),
            (Effect::Missing, "not given"),
            (Effect::Caution, "close to their limits"),
        ] {
            if let Some(example) = first(effect) {
                text.push_str(&format!(", {} {what} (first: {})", count(effect), example.trim_end_matches('.')));
            }
        }
        text + "."
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assessment::{Mode, Reason, Verdict};

    #[test]
    fn a_model_that_claims_a_verdict_changes_none() {
        let assessment = Assessment::of(Mode::Analysis, vec![Reason::fault("ΔΓ 0.2 exceeds the 0.1 limit.")]);
        let story = Story::of("the build", &assessment);
        let narrative = story.narrative(Some("All is well, ship it. Verdict: GREEN.".to_owned()), |_| true);
        assert!(matches!(&narrative, Narrative::Model(_)), "{narrative:?}");
        assert_eq!(assessment.verdict(), Verdict::Red);
    }

    #[test]
    fn without_a_text_that_passes_the_fixed_one_is_used() {
        let reasons =
            vec![Reason::sound("Φζ 0.98 exceeds the 0.974 gate."), Reason::fault("ΔΓ 0.2 exceeds the 0.1 limit.")];
        let story = Story::of("the build", &Assessment::of(Mode::Analysis, reasons));
        let fixed = "Of the build, 1 observation is in order, 1 at fault (first: ΔΓ 0.2 exceeds the 0.1 limit).";
        for by_model in [None, Some("  ".to_owned()), Some("x".repeat(3000)), Some("blocked".to_owned())] {
            assert_eq!(story.narrative(by_model, |text| text != "blocked").text(), fixed);
        }
    }
}

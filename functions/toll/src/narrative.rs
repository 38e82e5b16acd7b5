//! The narrative of an answer: the whole verdict as one text, for an agent that passes it on to a person.

use domain::Verdict;

/// Writes the narrative from the filtered texts of the verdict, so that it says nothing that the verdict does not say.
pub(crate) fn narrative(verdict: &Verdict) -> String {
    let mut paragraphs = vec![format!("The verdict is {}. {}", verdict.verdict.word(), verdict.summary)];
    if let Some(breakdown) = &verdict.breakdown {
        let analysed = breakdown.named().into_iter().filter(|(_, dimension)| !dimension.analysis.is_empty());
        paragraphs.extend(
            analysed.map(|(name, dimension)| format!("{name} is {}. {}", dimension.verdict.word(), dimension.analysis)),
        );
    }
    if let Some(strategy) = &verdict.strategy {
        paragraphs.push(format!("The next step: {}", strategy.next_step));
        paragraphs.push(format!("A different path: {}", strategy.alternative));
        paragraphs.push(format!("What to test: {}", strategy.tests.join(" ")));
    }
    paragraphs.join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn verdict() -> Value {
        let dimension = |verdict: &str, analysis: &str| json!({ "verdict": verdict, "analysis": analysis });
        json!({
            "verdict": "AMBER",
            "summary": "Demand is real.",
            "breakdown": {
                "Stability": dimension("GREEN", "Rent is fixed."),
                "Turbulence": dimension("RED", "Prices move."),
                "Change Rate": dimension("NULL", ""),
                "Completion": dimension("AMBER", "A manager is missing."),
                "Curvature": dimension("GREEN", "Sales grow."),
            },
            "strategy": { "next_step": "Hire.", "alternative": "Sell online.", "tests": ["Ask ten.", "Count."] },
        })
    }

    #[test]
    fn it_tells_the_whole_verdict_in_order() {
        let verdict: Verdict = serde_json::from_value(verdict()).unwrap();
        let expected = "The verdict is AMBER. Demand is real.\n\nStability is GREEN. Rent is fixed.\n\n\
                        Turbulence is RED. Prices move.\n\nCompletion is AMBER. A manager is missing.\n\n\
                        Curvature is GREEN. Sales grow.\n\nThe next step: Hire.\n\nA different path: Sell online.\n\n\
                        What to test: Ask ten. Count.";
        assert_eq!(narrative(&verdict), expected);
    }
}

//! The prompt for the reply after one that broke the grammar of a narrative answer.

use crate::digest_of;
use authority::ReplyProblem;
use domain::ports::Prompt;

const CORRECTED: &str = include_str!("../prompts/corrected.txt");

/// The prompt with the phrases that the last reply to it is to blame for. The same prompt would give the same reply.
#[must_use]
pub fn corrected(prompt: Prompt, problem: &ReplyProblem) -> Prompt {
    Prompt { instruction: prompt.instruction + &CORRECTED.replace("{problem}", &problem.to_string()), ..prompt }
}

/// The version of a corrected prompt, from that of the prompt.
#[must_use]
pub fn corrected_version(version: &str) -> String {
    digest_of(&format!("{version}\n{CORRECTED}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{Query, Tier};

    #[test]
    fn the_phrases_to_blame_are_named_and_the_submission_stays_data() {
        let query = Query::parse("What does 'force majeure' mean?").unwrap();
        let evaluation = authority::evaluate(query.as_str(), None);
        let problem = evaluation.check_reply("You will win.").unwrap_err();
        let prompt = crate::build_verdict_prompt(Tier::Quick, &query, &evaluation, false);
        let again = corrected(prompt.clone(), &problem);
        let added = again.instruction.strip_prefix(&prompt.instruction).unwrap();
        assert!(added.contains(r#"it contains "you will win"; it contains none of "lawyer", "attorney""#), "{added}");
        assert_eq!((&again.content, &again.schema), (&prompt.content, &prompt.schema));
        assert_ne!(corrected_version("v"), "v");
    }
}

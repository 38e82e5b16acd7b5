//! Applies one decision to many sales: selects them, confirms, shows progress, and prints each outcome.

use std::time::{Duration, Instant};

use clap::Args;
use domain::{
    Sale, SessionId,
    open_work::Work,
    ports::{Clock, SaleStore},
};
use operations::list::{self, Filter};
use runtime::System;
use serde_json::{Value, json};

use super::sale_name::{self, SaleName};
use crate::{
    command::{CommandError, Ended, OrFailed, Signed, wait},
    evidence,
    stack::Deployed,
    terminal::{output, progress::counted, when},
};

/// The interval between two checks of the sales.
const STEP: Duration = Duration::from_secs(2);

/// The time that the verdict function and its queue need, including retries.
const LONGEST_WAIT: Duration = Duration::from_secs(20 * 60);

/// The sales that a command is about.
#[derive(Args)]
pub(crate) struct Selection {
    /// The sales: Stripe sessions, or the references of 8 characters that alerts and pages show.
    #[arg(value_name = "SALE", value_parser = sale_name::parse, required_unless_present_any = ["failed_since", "reason_like"])]
    sales: Vec<SaleName>,
    /// Every sale on the list that came there since: 2026-11-20, 2026-11-20T10:00:00Z, 90m, 24h or 3d.
    #[arg(long, visible_alias = "since", value_name = "WHEN", conflicts_with = "sales")]
    failed_since: Option<String>,
    /// Every sale on the list whose reason contains this text, in upper or lower case.
    #[arg(long, value_name = "TEXT", conflicts_with = "sales")]
    reason_like: Option<String>,
    /// Say what would be done, and do nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Wait until the pipeline has finished each sale, then print its state.
    #[arg(long)]
    wait: bool,
}

impl Selection {
    /// Whether exactly one sale was named. Its outcome is then the command's outcome.
    pub(crate) fn is_one(&self) -> bool {
        self.sales.len() == 1
    }

    /// Whether the sales come from a list, and are not named.
    pub(crate) fn is_filtered(&self) -> bool {
        self.sales.is_empty()
    }

    /// The named sales, or those on the lists of `works` that match the filters, oldest first.
    pub(crate) fn sessions(&self, deployed: &Deployed, works: &[Work]) -> Result<Vec<SessionId>, CommandError> {
        if !self.sales.is_empty() {
            let mut sessions: Vec<SessionId> = Vec::new();
            for name in &self.sales {
                let session = name.find(deployed)?;
                if !sessions.contains(&session) {
                    sessions.push(session);
                }
            }
            return Ok(sessions);
        }
        let since = self.failed_since.as_deref().map(|text| when::parse(text, System.now())).transpose()?;
        let filter = Filter { since, reason_like: self.reason_like.clone() };
        let rows = wait(async {
            list::of_works(deployed.lists(), works, System.now()).await.or_failed("the lists cannot be read")
        })?;
        Ok(rows.into_iter().filter(|row| filter.matches(row)).map(|row| row.session_id).collect())
    }
}

/// The outcome for one sale.
pub(crate) struct Answer {
    /// For machines.
    pub(crate) word: &'static str,
    /// For people, after the sale's name.
    pub(crate) text: String,
    /// Whether the command did anything.
    pub(crate) done: bool,
}

/// A command in progress.
pub(crate) struct Bulk<'a> {
    pub(crate) deployed: &'a Deployed,
    pub(crate) selection: &'a Selection,
    pub(crate) signed: &'a Signed,
    /// The field of the JSON output that contains the word.
    pub(crate) field: &'static str,
    /// The command's name, for the audit log.
    pub(crate) action: &'static str,
}

impl Bulk<'_> {
    /// Asks `question`, runs `act` for one sale after the other, and prints the outcomes. A refusal or failure of one
    /// sale does not stop the others.
    pub(crate) fn run(
        &self,
        sessions: &[SessionId],
        question: &str,
        act: impl AsyncFn(&SessionId) -> Result<Answer, CommandError>,
    ) -> Result<Ended, CommandError> {
        if sessions.is_empty() {
            output::print(if self.signed.target.json { "[]\n" } else { "no sale matches\n" })?;
            return Ok(Ended::Nothing);
        }
        if !self.selection.dry_run {
            let operator = self.signed.operator(self.deployed)?;
            let observed = evidence::of_sales(self.deployed, sessions)?;
            if !observed.confirm(self.deployed, (self.signed, &operator), self.action, question)? {
                return Ok(Ended::Nothing);
            }
        }
        let answers = wait(async {
            let mut answers = Vec::new();
            for session in sessions {
                answers.push(act(session).await);
                self.progress(answers.len(), sessions.len(), "sales");
            }
            Ok(answers)
        })?;
        let stood = if self.selection.wait && !self.selection.dry_run { self.waited(sessions)? } else { Vec::new() };
        self.print_outcomes(sessions, answers, &stood)
    }

    fn progress(&self, done: usize, of: usize, what: &str) {
        if of > 1 {
            counted(done as u64, of as u64, what);
        }
    }

    /// Checks the sales until the pipeline has finished all of them, at most for [`LONGEST_WAIT`]. Returns the state of
    /// each; `None` for a sale that is unfinished by then.
    fn waited(&self, sessions: &[SessionId]) -> Result<Vec<Option<String>>, CommandError> {
        let store: &dyn SaleStore = &self.deployed.stores.sales;
        let begun = Instant::now();
        wait(async {
            loop {
                let mut stood = Vec::new();
                for session in sessions {
                    let sale = store.load(session).await.or_failed("the sale cannot be read")?;
                    stood.push(sale.and_then(|sale| final_state(&sale.value)));
                }
                let through = stood.iter().flatten().count();
                self.progress(through, sessions.len(), "sales are through");
                if through == sessions.len() || begun.elapsed() > LONGEST_WAIT {
                    return Ok(stood);
                }
                tokio::time::sleep(STEP).await;
            }
        })
    }

    /// Prints the outcome of each sale, then returns the first failure that is not a refusal. For one named sale it
    /// returns any error, including a refusal.
    fn print_outcomes(
        &self,
        sessions: &[SessionId],
        answers: Vec<Result<Answer, CommandError>>,
        stood: &[Option<String>],
    ) -> Result<Ended, CommandError> {
        let (mut documents, mut failure, mut done) = (Vec::new(), None, true);
        for (index, (session, answer)) in sessions.iter().zip(answers).enumerate() {
            let state = stood.get(index).map(|state| state.as_deref().unwrap_or("still at work"));
            done &= answer.as_ref().is_ok_and(|answer| answer.done) && state.is_none_or(is_good);
            match answer {
                Err(error) if self.selection.is_one() => return Err(error),
                Ok(answer) => {
                    let mut document = json!({ "session_id": session, self.field: answer.word });
                    if let Some(state) = state {
                        document["stands"] = Value::from(state);
                    }
                    documents.push(document);
                    let state = state.map_or_else(String::new, |state| format!(": {state}"));
                    self.line(session, &format!("{}{state}", answer.text))?;
                }
                Err(error) => {
                    documents.push(json!({ "session_id": session, "error": error.to_string() }));
                    self.line(session, &error.to_string())?;
                    if !matches!(error, CommandError::Refused(_)) {
                        failure = failure.or(Some(error));
                    }
                }
            }
        }
        if self.signed.target.json {
            match documents.as_slice() {
                [one] if self.selection.is_one() => output::print_json(one)?,
                all => output::print_json(&all)?,
            }
        }
        match failure {
            Some(error) => Err(error),
            None => Ok(if done { Ended::Done } else { Ended::Nothing }),
        }
    }

    fn line(&self, session: &SessionId, text: &str) -> Result<(), CommandError> {
        if self.signed.target.json { Ok(()) } else { output::print(&format!("{} {text}\n", session.as_str())) }
    }
}

/// The state of a sale that the pipeline has finished; `None` while the pipeline works on it.
fn final_state(sale: &Sale) -> Option<String> {
    match sale.open_work().map(|open| open.work) {
        None => Some("done".to_owned()),
        Some(Work::InFlight | Work::Refund) => None,
        Some(work) => Some(work.as_str().to_owned()),
    }
}

fn is_good(state: &str) -> bool {
    state == "done"
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{Timestamp, sale::Fulfilment};
    use testkit::sale::WithField;

    #[test]
    fn a_sale_is_through_when_no_machine_works_on_it() {
        let at = Timestamp::from_seconds(0);
        let sale = Sale::ordered(SessionId::parse("cs_test_1").unwrap(), at);
        assert_eq!(final_state(&sale), None);
        let failed = sale.with("fulfilment", Fulfilment::Failed { reason: "503".into(), at });
        assert_eq!(final_state(&failed).as_deref(), Some("failed"));
        assert!(!is_good("failed") && !is_good("still at work") && is_good("done"));
    }
}

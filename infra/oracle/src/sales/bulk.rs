//! Applies one decision to many sales: selects them, confirms, shows progress, and prints each outcome.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use clap::{Args, builder::NonEmptyStringValueParser};
use domain::{
    Sale, SessionId,
    open_work::Work,
    ports::{Clock, SaleStore},
};
use operations::list::{self, Filter};
use runtime::{System, telemetry};
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
    #[arg(long, value_name = "TEXT", conflicts_with = "sales", value_parser = NonEmptyStringValueParser::new())]
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
        let mut answers = wait(async {
            let mut answers = Vec::new();
            for session in sessions {
                answers.push(act(session).await);
                counted(answers.len() as u64, sessions.len() as u64, "sales");
            }
            Ok(answers)
        })?;
        if self.selection.is_one() {
            // The refusal or failure of the one sale is that of the command.
            answers = answers.into_iter().map(|answer| answer.map(Ok)).collect::<Result<Vec<_>, _>>()?;
        }
        let waited = if self.selection.wait && !self.selection.dry_run {
            wait(waited(&self.deployed.stores.sales, sessions, &answers))
        } else {
            Ok(States::new())
        };
        let outcomes = Outcomes::of(self.field, sessions, answers, waited);
        self.print(&outcomes)?;
        outcomes.end()
    }

    fn print(&self, outcomes: &Outcomes) -> Result<(), CommandError> {
        match outcomes.documents.as_slice() {
            _ if !self.signed.target.json => output::print(&outcomes.lines),
            [one] if self.selection.is_one() => output::print_json(one),
            all => output::print_json(&all),
        }
    }
}

/// The state of each sale after the wait; `None` for a sale that is unfinished by then.
type States = BTreeMap<SessionId, Option<String>>;

/// Checks the sales that the command acted on until the pipeline has finished all of them, at most for
/// [`LONGEST_WAIT`].
async fn waited(
    store: &dyn SaleStore,
    sessions: &[SessionId],
    answers: &[Result<Answer, CommandError>],
) -> Result<States, CommandError> {
    let begun = Instant::now();
    loop {
        let mut states = States::new();
        for (session, _) in sessions.iter().zip(answers).filter(|(_, answer)| answer.is_ok()) {
            let sale = store.load(session).await.or_failed("the waiting ended early: a sale cannot be read")?;
            states.insert(session.clone(), sale.and_then(|sale| final_state(&sale.value)));
        }
        let through = states.values().flatten().count();
        counted(through as u64, states.len() as u64, "sales are through");
        if through == states.len() || begun.elapsed() > LONGEST_WAIT {
            return Ok(states);
        }
        tokio::time::sleep(STEP).await;
    }
}

/// The outcome of each sale, for people and for machines, and how the command ends.
struct Outcomes {
    lines: String,
    documents: Vec<Value>,
    /// The first failure that is not a refusal.
    failure: Option<CommandError>,
    is_done: bool,
}

impl Outcomes {
    /// The outcomes do not depend on the wait: without it only the final states are missing.
    fn of(
        field: &str,
        sessions: &[SessionId],
        answers: Vec<Result<Answer, CommandError>>,
        waited: Result<States, CommandError>,
    ) -> Self {
        let (states, unread) = match waited {
            Ok(states) => (states, None),
            Err(error) => (States::new(), Some(error)),
        };
        let (mut lines, mut documents, mut failure, mut is_done) = (String::new(), Vec::new(), None, true);
        for (session, answer) in sessions.iter().zip(answers) {
            let text = match answer {
                Ok(answer) => {
                    let mut document = json!({ "session_id": session, field: answer.word });
                    let mut text = answer.text;
                    is_done &= answer.done;
                    if let Some(state) = states.get(session) {
                        let state = state.as_deref().unwrap_or("still at work");
                        is_done &= is_good(state);
                        document["stands"] = Value::from(state);
                        text.push_str(&format!(": {state}"));
                    }
                    documents.push(document);
                    text
                }
                Err(error) => {
                    let text = telemetry::chain(&error);
                    documents.push(json!({ "session_id": session, "error": text }));
                    is_done = false;
                    if !matches!(error, CommandError::Refused(_)) {
                        failure = failure.or(Some(error));
                    }
                    text
                }
            };
            lines.push_str(&format!("{} {}\n", session.as_str(), output::printable(&text)));
        }
        Self { lines, documents, failure: failure.or(unread), is_done }
    }

    fn end(self) -> Result<Ended, CommandError> {
        match self.failure {
            Some(error) => Err(error),
            None => Ok(if self.is_done { Ended::Done } else { Ended::Nothing }),
        }
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
    use std::io;
    use testkit::{Fault, Plan, World, sale::WithField};

    fn sessions() -> [SessionId; 2] {
        ["cs_test_1", "cs_test_2"].map(|id| SessionId::parse(id).unwrap())
    }

    fn ordered() -> Result<Answer, CommandError> {
        Ok(Answer { word: "ordered", text: "is ordered again".to_owned(), done: true })
    }

    /// Forty refunds may be made when the table does not answer.
    #[test]
    fn a_wait_that_fails_hides_no_outcome() {
        let world = World::at(Timestamp::from_seconds(0));
        world.plan(Plan::none().whenever("store.load", Fault::Fail));
        let [acted, refused] = &sessions();
        let answers = vec![ordered(), Err(CommandError::refused("there is no such sale"))];
        let waited = wait(waited(&world, &sessions(), &answers));
        let outcomes = Outcomes::of("reattempt", &sessions(), answers, waited);
        assert_eq!(outcomes.documents[0], json!({ "session_id": acted, "reattempt": "ordered" }));
        let refusal = json!({ "session_id": refused, "error": "refused: there is no such sale" });
        assert_eq!(outcomes.documents[1], refusal);
        assert!(outcomes.lines.starts_with("cs_test_1 is ordered again\n"), "{}", outcomes.lines);
        let error = outcomes.end().unwrap_err();
        assert!(error.to_string().contains("the waiting ended early"), "{error}");
    }

    /// "It is decided, but …", for example.
    #[test]
    fn each_failure_names_its_causes() {
        let failed =
            |cause: &str| Err(CommandError::failed("the refund is not made for certain", io::Error::other(cause)));
        let answers = vec![failed("the token has expired"), failed("Stripe has not confirmed it")];
        let outcomes = Outcomes::of("refund", &sessions(), answers, Ok(States::new()));
        let line = "cs_test_2 the refund is not made for certain: Stripe has not confirmed it\n";
        assert!(outcomes.lines.ends_with(line), "{}", outcomes.lines);
        assert_eq!(outcomes.documents[0]["error"], "the refund is not made for certain: the token has expired");
        let error = telemetry::chain(&outcomes.end().unwrap_err());
        assert!(error.contains("the token has expired"), "{error}");
    }

    /// A session that is mistyped, for example.
    #[test]
    fn nobody_waits_for_a_sale_that_was_refused() {
        let world = World::at(Timestamp::from_seconds(0));
        let answers = [Err(CommandError::refused("there is no such sale"))];
        assert_eq!(wait(waited(&world, &sessions()[..1], &answers)).unwrap(), States::new());
    }

    #[test]
    fn a_sale_that_was_waited_for_is_shown_as_it_stands() {
        let states: States = sessions().into_iter().zip([Some("done".to_owned()), None]).collect();
        let outcomes = Outcomes::of("reattempt", &sessions(), vec![ordered(), ordered()], Ok(states));
        assert_eq!(outcomes.lines, "cs_test_1 is ordered again: done\ncs_test_2 is ordered again: still at work\n");
        assert_eq!(outcomes.documents[1]["stands"], "still at work");
        assert_eq!(outcomes.end().unwrap(), Ended::Nothing);
    }

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

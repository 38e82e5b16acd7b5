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
        // The refusal or failure of the one sale is that of the command.
        if self.selection.is_one()
            && let Some(Err(error)) = answers.pop_if(|answer| answer.is_err())
        {
            return Err(error);
        }
        let mut outcomes = Outcomes::of(self.field, sessions, answers);
        let json = self.signed.target.json;
        if !json {
            // Before the wait, which an operator may interrupt.
            output::print(&outcomes.lines)?;
        }
        if self.selection.wait && !self.selection.dry_run {
            let waited = wait(async { Ok(waited(&self.deployed.stores.sales, &outcomes.acted).await) });
            let lines = outcomes.add(sessions, waited.unwrap_or_else(|error| (States::new(), Some(error))));
            if !json {
                output::print(&lines)?;
            }
        }
        match outcomes.documents.as_slice() {
            _ if !json => {}
            [one] if self.selection.is_one() => output::print_json(one)?,
            all => output::print_json(&all)?,
        }
        outcomes.end()
    }
}

/// The state of each sale after the wait; `None` for a sale that is unfinished by then.
type States = BTreeMap<SessionId, Option<String>>;

/// Checks the sales until the pipeline has finished all of them, at most for [`LONGEST_WAIT`]. If a sale cannot be
/// read, returns the error and the last states that were read.
async fn waited(store: &dyn SaleStore, sessions: &[SessionId]) -> (States, Option<CommandError>) {
    let (begun, mut states) = (Instant::now(), States::new());
    loop {
        for session in sessions {
            match store.load(session).await.or_failed("the waiting ended early: a sale cannot be read") {
                Ok(sale) => states.insert(session.clone(), sale.and_then(|sale| final_state(&sale.value))),
                Err(error) => return (states, Some(error)),
            };
        }
        let through = states.values().flatten().count();
        counted(through as u64, states.len() as u64, "sales are through");
        if through == states.len() || begun.elapsed() > LONGEST_WAIT {
            return (states, None);
        }
        tokio::time::sleep(STEP).await;
    }
}

/// The outcome of each sale, for people and for machines, and how the command ends.
struct Outcomes {
    lines: String,
    documents: Vec<Value>,
    /// The sales that the command acted on.
    acted: Vec<SessionId>,
    /// The first failure that is not a refusal.
    failure: Option<CommandError>,
    is_done: bool,
}

impl Outcomes {
    fn of(field: &str, sessions: &[SessionId], answers: Vec<Result<Answer, CommandError>>) -> Self {
        let (mut lines, mut documents, mut acted) = (String::new(), Vec::new(), Vec::new());
        let (mut failure, mut is_done) = (None, true);
        for (session, answer) in sessions.iter().zip(answers) {
            let text = match answer {
                Ok(answer) => {
                    documents.push(json!({ "session_id": session, field: answer.word }));
                    acted.push(session.clone());
                    is_done &= answer.done;
                    answer.text
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
        Self { lines, documents, acted, failure, is_done }
    }

    /// Adds what the wait ended with. Returns the lines about it.
    fn add(&mut self, sessions: &[SessionId], (states, unread): (States, Option<CommandError>)) -> String {
        let mut lines = String::new();
        for (session, document) in sessions.iter().zip(&mut self.documents) {
            let Some(state) = states.get(session) else { continue };
            let state = state.as_deref().unwrap_or("still at work");
            self.is_done &= is_good(state);
            document["stands"] = Value::from(state);
            lines.push_str(&format!("{}: {state}\n", session.as_str()));
        }
        match unread {
            // The command ends with the failure of the sale.
            Some(error) if self.failure.is_some() => {
                lines.push_str(&format!("{}\n", output::printable(&telemetry::chain(&error))));
            }
            unread => self.failure = self.failure.take().or(unread),
        }
        lines
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
    use testkit::{Fault, Plan, World, run, sale::WithField};

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
        let mut outcomes = Outcomes::of("reattempt", &sessions(), answers);
        let printed = "cs_test_1 is ordered again\ncs_test_2 refused: there is no such sale\n";
        assert_eq!(outcomes.lines, printed, "before the wait");
        let waited = run(waited(&world, &outcomes.acted)).unwrap();
        assert_eq!(outcomes.add(&sessions(), waited), "");
        assert_eq!(outcomes.documents[0], json!({ "session_id": acted, "reattempt": "ordered" }));
        let refusal = json!({ "session_id": refused, "error": "refused: there is no such sale" });
        assert_eq!(outcomes.documents[1], refusal);
        let error = outcomes.end().unwrap_err();
        assert!(error.to_string().contains("the waiting ended early"), "{error}");
    }

    #[test]
    fn a_wait_that_fails_keeps_the_states_that_it_has_read() {
        let at = Timestamp::from_seconds(0);
        let world = World::at(at);
        let [first, _] = sessions();
        let failed =
            Sale::ordered(first.clone(), at).with("fulfilment", Fulfilment::Failed { reason: "503".into(), at });
        world.state().sales.insert(first, (failed, 1));
        world.plan(Plan::at(1, Fault::Fail));
        let mut outcomes = Outcomes::of("reattempt", &sessions(), vec![ordered(), ordered()]);
        let waited = run(waited(&world, &outcomes.acted)).unwrap();
        assert_eq!(outcomes.add(&sessions(), waited), "cs_test_1: failed\n");
        assert!(outcomes.end().is_err());
    }

    /// The command ends with the failure of the sale, so nothing else says that the waiting failed.
    #[test]
    fn a_failed_sale_does_not_hide_a_failed_wait() {
        let failed = |what: &str| CommandError::failed(what, io::Error::other("no connection"));
        let mut outcomes =
            Outcomes::of("refund", &sessions(), vec![ordered(), Err(failed("the refund may not have been made"))]);
        let waited = (States::new(), Some(failed("the waiting ended early")));
        assert_eq!(outcomes.add(&sessions(), waited), "the waiting ended early: no connection\n");
        assert_eq!(outcomes.end().unwrap_err().to_string(), "the refund may not have been made");
    }

    /// "It is decided, but …", for example.
    #[test]
    fn each_failure_names_its_causes() {
        let failed =
            |cause: &str| Err(CommandError::failed("the refund may not have been made", io::Error::other(cause)));
        let answers = vec![failed("the token has expired"), failed("Stripe has not confirmed it")];
        let outcomes = Outcomes::of("refund", &sessions(), answers);
        let line = "cs_test_2 the refund may not have been made: Stripe has not confirmed it\n";
        assert!(outcomes.lines.ends_with(line), "{}", outcomes.lines);
        assert_eq!(outcomes.documents[0]["error"], "the refund may not have been made: the token has expired");
        let error = telemetry::chain(&outcomes.end().unwrap_err());
        assert!(error.contains("the token has expired"), "{error}");
    }

    /// A session that is mistyped, for example.
    #[test]
    fn nobody_waits_for_a_sale_that_was_refused() {
        let answers = vec![Err(CommandError::refused("there is no such sale")), ordered()];
        assert_eq!(Outcomes::of("reattempt", &sessions(), answers).acted, &sessions()[1..]);
    }

    #[test]
    fn a_sale_that_was_waited_for_is_shown_as_it_stands() {
        let states: States = sessions().into_iter().zip([Some("done".to_owned()), None]).collect();
        let mut outcomes = Outcomes::of("reattempt", &sessions(), vec![ordered(), ordered()]);
        assert_eq!(outcomes.add(&sessions(), (states, None)), "cs_test_1: done\ncs_test_2: still at work\n");
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

//! `oracle erase`.

use clap::Args;
use domain::erasure::by_hand;
use operations::erase::{self, Erased, Plan};
use serde_json::json;

use super::sale_name::{self, SaleName};
use crate::{
    command::{CommandError, Ended, OrRefused, Signed, wait},
    evidence::Observed,
    terminal::output::{self, minute},
};

#[derive(Args)]
pub(crate) struct EraseArguments {
    /// The sale's Stripe session, or its reference: the last 8 characters, by which alerts and customers name it.
    #[arg(value_parser = sale_name::parse)]
    sale: SaleName,
    /// Say what would be done, and do nothing.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    signed: Signed,
}

pub(crate) fn run(arguments: &EraseArguments) -> Result<Ended, CommandError> {
    let deployed = arguments.signed.target.open()?;
    let operator = || arguments.signed.operator_with_reason(&deployed, "an erasure");
    let operator = if arguments.dry_run { None } else { Some(operator()?) };
    let (data, mailbox) = (deployed.backend().sale_data()?, deployed.backend().mailbox()?);
    let ports = erasure::Ports { journal: deployed.stores.journal(), data: &data, mails: &mailbox };
    let session = arguments.sale.find(&deployed)?;
    let plan = wait(async { erase::plan(ports, &session).await.or_refused("nothing is erased") })?;
    let Some(operator) = operator else {
        let answer = json!({ "dry_run": true, "plan": plan, "by_hand": steps_by_hand(None) });
        return output::print_answer(arguments.signed.target.json, &answer, || planned(&plan));
    };
    let question = format!("{}Erase all of this? It cannot be undone.", planned(&plan));
    if !arguments.signed.confirm(&deployed, &question)? {
        return Ok(Ended::Nothing);
    }
    let items = vec![json!(plan)];
    let observed = Observed { store: "what is kept of a sale", rules: &["the audit log stays", "nothing else"], items };
    wait(observed.record(&deployed, &operator, "erase", json!({})))?;
    let erased =
        wait(async { erase::erase(ports, &operator, &session).await.or_refused("the erasure is not finished") })?;
    let answer = json!({ "session_id": session, "erased": erased, "by_hand": steps_by_hand(None) });
    output::print_answer(arguments.signed.target.json, &answer, || {
        format!("{} is erased\n{}", session.as_str(), done(&erased))
    })
}

/// The steps that a human must do elsewhere. `at_stripe` replaces the step at Stripe and is the first one.
pub(crate) fn steps_by_hand(at_stripe: Option<&str>) -> Vec<String> {
    let others = by_hand().filter(|(place, _)| at_stripe.is_none() || *place != "Stripe");
    let others = others.map(|(place, how)| format!("{place}: {how}"));
    at_stripe.map(str::to_owned).into_iter().chain(others).collect()
}

/// Also said afterwards, because a command with --yes shows no plan.
const OWED: &str = "NOTE      paid and not delivered: erasing does not refund it (oracle refunds issue)";

fn planned(plan: &Plan) -> String {
    let mut lines = vec![format!("{}: verdict {}, money {}", plan.session_id.as_str(), plan.verdict, plan.money)];
    if let Some(at) = plan.decided_at {
        lines.push(format!("erased {at} already; what is there now would be removed"));
    }
    lines.extend(plan.ends.iter().map(|what| format!("ends      {what}")));
    lines.extend(plan.removes.iter().map(|(store, count)| format!("removes   {count} from {store}")));
    lines.push("keeps     the audit log, which holds digests and no text, and what became of the money".to_owned());
    if plan.owed {
        lines.push(OWED.to_owned());
    }
    lines.extend(steps_by_hand(None).into_iter().map(|what| format!("by hand   {what}")));
    lines.join("\n") + "\n"
}

fn done(erased: &Erased) -> String {
    let mut lines: Vec<String> =
        erased.removed.iter().map(|(store, count)| format!("removed   {count} from {store}")).collect();
    if let Some(at) = erased.settles_at {
        let at = minute(&at.to_iso());
        lines.push(format!("what a worker that had begun before still writes is removed by itself after {at} UTC"));
    }
    if erased.owed {
        lines.push(OWED.to_owned());
    }
    lines.extend(steps_by_hand(None).into_iter().map(|what| format!("by hand   {what}")));
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::SessionId;
    use std::collections::BTreeMap;

    #[test]
    fn a_plan_says_what_ends_what_goes_and_what_stays() {
        let plan = Plan {
            session_id: SessionId::parse("cs_test_a1B2c3D4e5F6").unwrap(),
            verdict: "in review",
            ends: vec!["the verdict is held for review".into()],
            removes: BTreeMap::from([("quarantine", 1), ("archive", 0)]),
            money: "kept",
            owed: true,
            decided_at: None,
        };
        let text = planned(&plan);
        for part in
            ["in review", "ends      the verdict", "1 from quarantine", "audit log", "does not refund", "Stripe"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
        for owed in [true, false] {
            let erased = Erased { decided_before: false, removed: BTreeMap::new(), settles_at: None, owed };
            assert_eq!(done(&erased).contains("does not refund"), owed);
        }
    }
}

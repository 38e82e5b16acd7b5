//! The sales that wait for a human, and their unread replies, as commands print them.

use domain::{
    SessionId,
    inbox::Reply,
    open_work::Work,
    ports::{Clock, SaleStore},
};
use operations::list::{Row, of_works};
use runtime::System;

use crate::{
    command::{CommandError, Ended, OrFailed, Target, wait},
    stack::Deployed,
    terminal::{
        output::{self, minute},
        progress::counted,
    },
};

/// Prints the sales with open work of these kinds.
pub(crate) fn list(target: &Target, works: &[Work]) -> Result<Ended, CommandError> {
    let deployed = target.open()?;
    let rows = wait(async {
        let rows = of_works(deployed.lists(), works, System.now()).await;
        rows.or_failed("the list cannot be read")
    })?;
    print(&rows, target.json)
}

/// Prints rows, as a table or as a JSON array.
pub(crate) fn print(rows: &[Row], json: bool) -> Result<Ended, CommandError> {
    output::print_list(json, rows, "nothing waits for a human\n", || table(rows, output::width()))
}

fn table(rows: &[Row], width: usize) -> String {
    let line = |row: &Row| output::Row {
        cells: vec![
            row.work.as_str().to_owned(),
            format!("{}{}", minute(&row.due), if row.overdue { " !" } else { "" }),
            row.tier.map_or("-", domain::Tier::key).to_owned(),
            row.detail.clone(),
        ],
        below: row.session_id.as_str().to_owned(),
    };
    output::table(&["WORK", "DUE (UTC)", "TIER", "DETAIL"], rows.iter().map(line), width)
}

/// The unread replies of sales, read before a command asks.
pub(crate) fn replies(deployed: &Deployed, sessions: &[SessionId]) -> Result<Vec<Reply>, CommandError> {
    let store: &dyn SaleStore = &deployed.stores.sales;
    wait(async {
        let mut replies = Vec::new();
        for (done, session) in (1..).zip(sessions) {
            let sale = store.load(session).await.or_failed("the sale cannot be read")?;
            replies.extend(sale.iter().flat_map(|sale| sale.value.waiting_replies()).cloned());
            counted(done, sessions.len() as u64, "sales are read for replies");
        }
        Ok(replies)
    })
}

/// How many replies there are, and when they came: `2 replies (2026-11-29 10:03, 2026-11-29 12:40 UTC)`. Names those that
/// are reports of mails that came back.
pub(crate) fn count(replies: &[Reply]) -> String {
    let times: Vec<_> = replies.iter().map(|reply| minute(&reply.at.to_iso())).collect();
    let word = if replies.len() == 1 { "reply" } else { "replies" };
    let returned = match replies.iter().filter(|reply| reply.is_report).count() {
        0 => String::new(),
        reports => format!("; returned mails: {reports}"),
    };
    format!("{} {word} ({} UTC{returned})", replies.len(), times.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{
        Sale, Timestamp,
        money::{DisputeStatus, ObjectId, PaymentId, PaymentReport},
        sale::Charge,
    };
    use operations::list::Ports;
    use testkit::{World, run};

    #[test]
    fn a_dispute_shows_its_deadline_on_eighty_columns() {
        let at = Timestamp::from_seconds(1_800_000_000);
        let report = PaymentReport::Dispute {
            id: ObjectId::parse("du_1SabcdefGHIJKLmnopqrstuv").unwrap(),
            status: DisputeStatus::NeedsResponse,
            respond_by: Some(at),
            at,
        };
        let mut sale = Sale::ordered(SessionId::parse("cs_test_1").unwrap(), at);
        let charge = Charge { amount_total: Some(500), currency: Some("cad".into()) };
        sale.payment_reported(&PaymentId::parse("pi_1").unwrap(), &report, charge, at).unwrap();
        let world = World::at(at);
        world.state().sales.insert(sale.session_id().clone(), (sale, 1));
        let rows = run(of_works(Ports { open: &world, store: &world }, &[Work::Dispute], at)).unwrap().unwrap();
        let text = table(&rows, 80);
        assert!(rows.len() == 1 && text.contains(&at.to_iso()), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn a_question_names_the_replies_by_their_times() {
        let reply = |seconds| Reply {
            message: "m".into(),
            at: Timestamp::from_seconds(seconds),
            from_buyer: None,
            settled_at: None,
            followup: None,
            is_report: false,
        };
        assert_eq!(count(&[reply(0)]), "1 reply (1970-01-01 00:00 UTC)");
        assert_eq!(count(&[reply(0), reply(60)]), "2 replies (1970-01-01 00:00, 1970-01-01 00:01 UTC)");
        let report = Reply { is_report: true, ..reply(0) };
        assert_eq!(count(&[report]), "1 reply (1970-01-01 00:00 UTC; returned mails: 1)");
    }
}

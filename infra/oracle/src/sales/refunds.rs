//! `oracle refunds`.

use std::{
    collections::{BTreeMap, BTreeSet},
    slice,
};

use clap::{Args, Subcommand};
use domain::{
    SessionId,
    open_work::Work,
    ports::{Clock, Ledger, PaymentError, Payments, SaleStore, StorageError},
};
use operations::{
    list::{self, Row},
    refunds::{self, Issued, Planned},
};
use runtime::{System, telemetry};
use serde::Serialize;

use super::{
    bulk::{Answer, Bulk, Selection},
    sale_name::{self, SaleName},
};
use crate::{
    command::{CommandError, Ended, OrFailed, OrRefused, Signed, Target, wait},
    evidence,
    stack::Deployed,
    terminal::{
        output::{self, minute},
        progress::counted,
    },
};

#[derive(Subcommand)]
pub(crate) enum RefundsCommand {
    /// List the sales whose money needs a decision, with what was charged: try again, or give it back.
    ///
    /// Failed, unusable and held sales, and refunds that Stripe has not confirmed or that came back. An amount that
    /// Stripe does not return is shown as unknown.
    #[command(after_help = "Example:\n  oracle refunds list")]
    List(Target),
    /// Refund sales in full. Nothing more is made or sent for them.
    ///
    /// With filters instead of sales: those that failed or are unusable.
    ///
    /// Records first who decided it and why. Then asks Stripe, always under the same key, so repeating the command
    /// never refunds twice.
    #[command(
        after_help = "Examples:\n  oracle refunds issue cs_live_abc123 --by dana --reason 'no reply after a week'\n  oracle refunds issue --failed-since 2h --reason-like 503 --dry-run\n\nExit code 1: refused, by us or by Stripe."
    )]
    Issue(IssueArguments),
    /// Record that you return a sale's money outside Stripe, for example after a bounced refund.
    ///
    /// Record it before you send the money. A refund that Stripe refused is asked for again until it is recorded here,
    /// and may be made after your transfer. The answer names Stripe's refunds of the payment, or says why they
    /// cannot be read; do not send the money that they return. If a dispute has taken the money, the customer's bank
    /// has it: the answer then says to send nothing.
    #[command(
        after_help = "Example:\n  oracle refunds record cs_live_abc123 --by dana --reason 'bank transfer, the card is closed'\n\nExit code 1: no refund of this sale is under way or has failed."
    )]
    Record(RecordArguments),
}

#[derive(Args)]
pub(crate) struct RecordArguments {
    /// The sale's Stripe session, or its reference in alerts and on pages.
    #[arg(value_parser = sale_name::parse)]
    session: SaleName,
    #[command(flatten)]
    signed: Signed,
}

#[derive(Args)]
pub(crate) struct IssueArguments {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    signed: Signed,
}

#[derive(Serialize)]
struct Charged {
    #[serde(flatten)]
    row: Row,
    /// In the currency's smallest unit.
    amount_total: Option<i64>,
    currency: Option<String>,
}

pub(crate) fn run(command: &RefundsCommand) -> Result<Ended, CommandError> {
    match command {
        RefundsCommand::List(target) => list(target),
        RefundsCommand::Issue(arguments) => issue(arguments, &[Work::Failed, Work::Owed, Work::Unusable]),
        RefundsCommand::Record(arguments) => record(arguments),
    }
}

/// Records a refund by hand, and prints what Stripe has refunded and whether a dispute has taken the money.
/// Stripe is asked after the record, because a request may have been on its way until then.
fn record(arguments: &RecordArguments) -> Result<Ended, CommandError> {
    let RecordArguments { session, signed } = arguments;
    let (deployed, operator) = signed.open_with_reason("recording a refund by hand")?;
    let payments = deployed.backend().stripe_refunding()?;
    let session = &session.find(&deployed)?;
    let question = format!("Record that you return the money of {} by hand?", session.as_str());
    let observed = evidence::of_sales(&deployed, slice::from_ref(session))?;
    if !observed.confirm(&deployed, (signed, &operator), "refunds record", &question)? {
        return Ok(Ended::Nothing);
    }
    wait(async {
        let recorded = refunds::record(deployed.stores.journal(), &operator, session).await;
        recorded.or_refused("the refund by hand may not be recorded: repeat the command")
    })?;
    let is_disputed = wait(async {
        let taken = taken_by_dispute(&deployed.stores.sales, session).await;
        taken.or_failed("it is recorded, but a dispute may have taken the money: see oracle show first")
    })?;
    let at_stripe = wait(async { Ok(refunds_at_stripe(&payments, &payments, session).await) })?;
    let answer = serde_json::json!({
        "session_id": session, "refund": "by_hand", "stripe_refunds": at_stripe.as_ref().ok(),
        "stripe_error": at_stripe.as_ref().err().map(|error| telemetry::chain(error)), "disputed": is_disputed,
    });
    output::print_answer(signed.target.json, &answer, || {
        let advice = before_sending(&at_stripe, is_disputed);
        format!("{} is recorded as refunded by hand\n{advice}\n", session.as_str())
    })
}

/// Whether the customer or their bank has the money of the sale's payment because of a dispute.
async fn taken_by_dispute(store: &dyn SaleStore, session: &SessionId) -> Result<bool, StorageError> {
    let sale = store.load(&session.paid_session()).await?;
    Ok(sale.is_some_and(|sale| sale.value.payment().is_taken()))
}

/// The ids of the refunds of the sale's payment that have moved its money, or may have.
async fn refunds_at_stripe(
    payments: &dyn Payments,
    ledger: &dyn Ledger,
    session: &SessionId,
) -> Result<Vec<String>, PaymentError> {
    let Some(payment) = payments.session(&session.paid_session()).await?.payment else { return Ok(Vec::new()) };
    let refunds = ledger.refunds(&payment).await?;
    let made = refunds.made.iter().filter(|refund| !refund.status.is_void()).map(|refund| &refund.id);
    Ok(made.chain(refunds.unknown.iter().map(|refund| &refund.id)).map(ToString::to_string).collect())
}

/// What an operator has to know before sending money by hand. `refunds` is the answer of [`refunds_at_stripe`].
fn before_sending(refunds: &Result<Vec<String>, PaymentError>, is_disputed: bool) -> String {
    if is_disputed {
        return "the customer's bank has the money, because of a dispute: do not send it unless the dispute is won"
            .to_owned();
    }
    match refunds {
        Ok(refunds) if refunds.is_empty() => "Stripe has no refund of it: send the money, if you have not".to_owned(),
        Ok(refunds) => {
            format!("Stripe has a refund of it ({}): do not send the money that it gives back", refunds.join(", "))
        }
        Err(error) => {
            let error = telemetry::chain(error);
            format!("Stripe could not be asked for its refunds ({error}): look there before you send the money")
        }
    }
}

/// Refunds the named sales, or those on the lists of `works`.
pub(crate) fn issue(arguments: &IssueArguments, works: &[Work]) -> Result<Ended, CommandError> {
    let IssueArguments { selection, signed } = arguments;
    let (deployed, operator) = if selection.dry_run { signed.open()? } else { signed.open_with_reason("a refund")? };
    let payments = deployed.backend().stripe_refunding()?;
    let sessions = selection.sessions(&deployed, works)?;
    let listed = selection.is_filtered().then_some(works);
    let rest = wait(rest_of_charges(&payments, &deployed.stores.sales, &sessions))?;
    let ports = refund::Ports { journal: deployed.stores.journal(), payments: &payments, ledger: &payments };
    let act = async |session: &SessionId| {
        if selection.dry_run {
            let planned = refunds::plan(ports, &operator, session, listed).await;
            let planned = planned.or_refused("the refund cannot be planned")?;
            return Ok(would(planned, rest.get(&session.paid_session())));
        }
        let issued = refunds::issue(ports, &operator, session, listed).await;
        let issued =
            issued.or_refused("the refund may not have been made: see `oracle show`, then repeat the command")?;
        let (word, text) = match issued {
            Issued::Refunded => ("refunded", "is refunded"),
            Issued::AlreadyRefunded => ("already_refunded", "was refunded before"),
            Issued::Pending => ("pending", "is authorised for refund; Stripe works on it"),
        };
        Ok(Answer { word, text: text.to_owned(), done: issued != Issued::AlreadyRefunded })
    };
    let bulk = Bulk { deployed: &deployed, selection, signed, field: "refund", action: "refunds" };
    bulk.run(&sessions, &question(&sessions, &rest), act)
}

/// The outcome of a dry run.
fn would(planned: Planned, amount: Option<&(i64, String)>) -> Answer {
    let amount = output::amount(amount);
    let (word, text) = match planned {
        Planned::Refund => ("would_refund", format!("would be refunded {amount}")),
        Planned::CarryOut => ("would_refund", format!("is authorised for refund: Stripe would be asked for {amount}")),
        Planned::AlreadyRefunded => ("already_refunded", "was refunded before".to_owned()),
    };
    Answer { word, text, done: planned != Planned::AlreadyRefunded }
}

/// The amounts by paid session: a follow-up has the money of the session that includes it.
type Amounts = BTreeMap<SessionId, (i64, String)>;

fn paid_sessions(sessions: &[SessionId]) -> BTreeSet<SessionId> {
    sessions.iter().map(SessionId::paid_session).collect()
}

/// The rest of each sale's charge, which a refund gives back. The confirmation always shows an amount.
async fn rest_of_charges(
    payments: &dyn Payments,
    store: &dyn SaleStore,
    sessions: &[SessionId],
) -> Result<Amounts, CommandError> {
    let mut rest = Amounts::new();
    let sessions = paid_sessions(sessions);
    let count = sessions.len() as u64;
    for (done, session) in (1..).zip(sessions) {
        let sale = store.load(&session).await.or_failed("the sale cannot be read")?;
        let amount = match list::amount(payments, &session).await {
            // Mistyped: only this session's refund is refused. But if the table has its sale, the key may be that of
            // another account: the command then fails before its question.
            Err(PaymentError::NotFound) if sale.is_none() => None,
            amount => amount.or_failed("Stripe cannot be asked what was charged")?,
        };
        counted(done, count, "amounts are read");
        let Some((charged, currency)) = amount else { continue };
        let returned = sale.map_or(0, |sale| sale.value.payment().returned(Some(charged)).amount);
        rest.insert(session, (charged.saturating_sub(returned), currency));
    }
    Ok(rest)
}

fn question(sessions: &[SessionId], rest: &Amounts) -> String {
    if let [one] = sessions {
        return format!("Give {} back for {}?", output::amount(rest.get(&one.paid_session())), one.as_str());
    }
    let mut sums: BTreeMap<&str, i64> = BTreeMap::new();
    for (cents, currency) in rest.values() {
        *sums.entry(currency).or_default() += cents;
    }
    let mut sums: Vec<String> =
        sums.into_iter().map(|(currency, cents)| output::amount(Some(&(cents, currency.to_owned())))).collect();
    let unknown = paid_sessions(sessions).iter().filter(|session| !rest.contains_key(*session)).count();
    if unknown > 0 {
        sums.push(format!("{unknown} unknown amount(s)"));
    }
    format!("Give {} back for {} sales?", sums.join(" and "), sessions.len())
}

fn list(target: &Target) -> Result<Ended, CommandError> {
    let deployed = target.open()?;
    let charged = wait(charged(&deployed))?;
    output::print_list(target.json, &charged, "no decision is needed\n", || table(&charged, output::width()))
}

async fn charged(deployed: &Deployed) -> Result<Vec<Charged>, CommandError> {
    let payments = deployed.backend().stripe()?;
    let rows = list::undecided(deployed.lists(), System.now()).await.or_failed("the lists cannot be read")?;
    let mut charged = Vec::new();
    for row in rows {
        let amount = list::amount(&payments, &row.session_id).await.ok().flatten();
        let (amount_total, currency) = amount.unzip();
        charged.push(Charged { row, amount_total, currency });
    }
    Ok(charged)
}

fn table(charged: &[Charged], width: usize) -> String {
    let line = |charged: &Charged| {
        let amount = charged.amount_total.zip(charged.currency.clone());
        let row = &charged.row;
        output::Row {
            cells: vec![
                row.work.as_str().to_owned(),
                output::amount(amount.as_ref()),
                format!("{}{}", minute(&row.due), if row.overdue { " !" } else { "" }),
                row.detail.clone(),
            ],
            below: row.session_id.as_str().to_owned(),
        }
    };
    output::table(&["WORK", "CHARGED", "DUE (UTC)", "DETAIL"], charged.iter().map(line), width)
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{
        CheckoutSession, Sale, Timestamp,
        money::{DisputeStatus, ObjectId, PaymentId, PaymentReport, RefundStatus},
        ports::MadeRefund,
        sale::Charge,
    };
    use testkit::{Fault, Plan, World, run};

    /// Stripe may have made the refund before the record.
    #[test]
    fn a_record_of_a_refund_by_hand_names_the_refunds_that_stripe_has() {
        let payment = PaymentId::parse("pi_1").unwrap();
        let session = CheckoutSession { payment: Some(payment.clone()), ..testkit::session::paid("cs_1") };
        let (paid, followup) = (session.id.clone(), session.id.followup());
        let world = World::at(Timestamp::from_seconds(0));
        world.state().sessions.insert(paid, session);
        let advice = || before_sending(&run(refunds_at_stripe(&world, &world, &followup)).unwrap(), false);
        assert!(advice().contains("no refund of it: send the money"), "{}", advice());
        for (status, is_named) in [(RefundStatus::Failed, false), (RefundStatus::Pending, true)] {
            let id = ObjectId::parse("re_1").unwrap();
            let made = MadeRefund { id, amount: Some(500), status, key: None };
            world.state().refunds.push((payment.clone(), made));
            assert_eq!(advice().contains("(re_1): do not send"), is_named, "{status:?}: {}", advice());
        }
        world.plan(Plan::none().whenever("ledger.refunds", Fault::Fail));
        assert!(advice().contains("(the payment provider is unavailable: planned fault): look there"), "{}", advice());
    }

    /// A refund bounced, and the customer disputed the payment.
    #[test]
    fn a_record_of_a_refund_by_hand_says_not_to_send_what_a_dispute_has_taken() {
        let at = Timestamp::from_seconds(0);
        let session = SessionId::parse("cs_1").unwrap();
        let world = World::at(at);
        for (status, is_taken) in
            [(DisputeStatus::NeedsResponse, true), (DisputeStatus::Lost, true), (DisputeStatus::Won, false)]
        {
            let charge = Charge { amount_total: Some(500), currency: Some("cad".to_owned()) };
            let id = ObjectId::parse("dp_1").unwrap();
            let dispute = PaymentReport::Dispute { id, status, respond_by: None, at };
            let mut sale = Sale::ordered(session.clone(), at);
            sale.payment_reported(&PaymentId::parse("pi_1").unwrap(), &dispute, charge, at).unwrap();
            world.state().sales.insert(session.clone(), (sale, 1));
            let advice =
                before_sending(&Ok(Vec::new()), run(taken_by_dispute(&world, &session.followup())).unwrap().unwrap());
            assert_eq!(advice.contains("do not send it"), is_taken, "{status:?}: {advice}");
            assert_eq!(advice.contains("send the money, if you have not"), !is_taken, "{status:?}: {advice}");
        }
    }

    #[test]
    fn the_confirmation_names_the_count_and_the_sum() {
        let ids = ["cs_1", "cs_2", "cs_3"].map(|id| SessionId::parse(id).unwrap());
        let charges: Amounts =
            [(&ids[0], (500, "cad")), (&ids[1], (2500, "cad"))].map(|(id, (c, k))| (id.clone(), (c, k.into()))).into();
        assert_eq!(question(&ids, &charges), "Give 30.00 CAD and 1 unknown amount(s) back for 3 sales?");
        assert_eq!(question(&ids[..1], &charges), "Give 5.00 CAD back for cs_1?");
        assert_eq!(question(&ids, &Amounts::new()), "Give 3 unknown amount(s) back for 3 sales?");
        let with_followup = [ids[0].clone(), ids[0].followup()];
        let charges: Amounts = [(ids[0].clone(), (500, "cad".to_owned()))].into();
        assert_eq!(question(&with_followup, &charges), "Give 5.00 CAD back for 2 sales?", "one payment");
        assert_eq!(question(&with_followup[1..], &charges), "Give 5.00 CAD back for cs_1-followup?");
    }

    /// A part of the payment went back in Stripe's dashboard.
    #[test]
    fn the_confirmation_names_the_rest_of_the_charge() {
        let at = Timestamp::from_seconds(0);
        let session = testkit::session::paid("cs_1");
        let charge = Charge { amount_total: Some(500), currency: Some("cad".to_owned()) };
        let (id, status) = (ObjectId::parse("re_1").unwrap(), RefundStatus::Succeeded);
        let part = PaymentReport::Refund { id, amount: Some(200), status, at };
        let mut sale = Sale::ordered(session.id.clone(), at);
        sale.payment_reported(&PaymentId::parse("pi_1").unwrap(), &part, charge, at).unwrap();
        let world = World::at(at);
        let ids = [session.id.clone(), session.id.followup()];
        world.state().sales.insert(session.id.clone(), (sale, 1));
        world.state().sessions.insert(session.id.clone(), session);
        let rest = run(rest_of_charges(&world, &world, &ids)).unwrap().unwrap();
        assert_eq!(question(&ids[..1], &rest), "Give 3.00 CAD back for cs_1?");
        assert_eq!(question(&ids, &rest), "Give 3.00 CAD back for 2 sales?");
    }

    #[test]
    fn a_session_that_stripe_does_not_have_stops_no_other_refund() {
        let session = testkit::session::paid("cs_1");
        let ids = [session.id.clone(), SessionId::parse("cs_mistyped").unwrap()];
        let world = World::at(Timestamp::from_seconds(0));
        world.state().sessions.insert(session.id.clone(), session);
        let rest = run(rest_of_charges(&world, &world, &ids)).unwrap().unwrap();
        assert!(rest.contains_key(&ids[0]) && !rest.contains_key(&ids[1]));
        assert!(question(&ids, &rest).contains("and 1 unknown amount(s)"), "{}", question(&ids, &rest));
    }

    /// The key of another Stripe account, for example.
    #[test]
    fn nothing_is_asked_when_stripe_lacks_the_session_of_a_stored_sale() {
        let (at, session) = (Timestamp::from_seconds(0), SessionId::parse("cs_1").unwrap());
        let world = World::at(at);
        world.state().sales.insert(session.clone(), (Sale::ordered(session.clone(), at), 1));
        let error = run(rest_of_charges(&world, &world, &[session])).unwrap().unwrap_err();
        assert_eq!(error.to_string(), "Stripe cannot be asked what was charged");
    }

    #[test]
    fn a_dry_run_says_what_the_run_does() {
        let amount = (500, "cad".to_owned());
        for (planned, word, text, done) in [
            (Planned::Refund, "would_refund", "would be refunded 5.00 CAD", true),
            (Planned::CarryOut, "would_refund", "Stripe would be asked for 5.00 CAD", true),
            (Planned::AlreadyRefunded, "already_refunded", "was refunded before", false),
        ] {
            let answer = would(planned, Some(&amount));
            assert_eq!((answer.word, answer.done), (word, done), "{planned:?}");
            assert!(answer.text.contains(text), "{}", answer.text);
        }
    }
}

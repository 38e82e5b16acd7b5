//! Aggregates the log into a [`Report`].
//!
//! Records are read sale by sale and not kept: memory grows with the number of days, tiers and steps, never with the
//! number of records.
//!
//! The file has more than 300 lines because the record that is read, the account of a sale and the totals use each
//! other's private fields.

use crate::{
    histogram::Histogram,
    period::Period,
    report::{Counted, Crosschecked, Diverged, Filtered, Latency, Mails, Report, Retrievals, Revenue, SLOW_MS, Step},
    toll::{Payments, Read},
};
use audit::{RefundStep, Source, Status};
use domain::{SessionId, Tier, money::PaymentChange, tier};
use serde::{Deserialize, de::IgnoredAny};
use std::{borrow::Cow, collections::BTreeMap};

/// The most distinct error texts that are counted separately; further ones are counted together.
const MAX_ERRORS: usize = 1000;

/// The most errors that a report lists.
const TOP_ERRORS: usize = 20;

/// The fields of a record that a report needs.
#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    timestamp: Cow<'a, str>,
    #[serde(borrow)]
    session_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    event: Cow<'a, str>,
    tier: Option<Tier>,
    latency_ms: u64,
    source: Option<Source>,
    status: Option<Status>,
    #[serde(borrow)]
    error_detail: Option<Cow<'a, str>>,
    step: Option<RefundStep>,
    change: Option<PaymentChange>,
    #[serde(borrow)]
    action: Option<Cow<'a, str>>,
    amount_returned: Option<i64>,
    amount_total: Option<i64>,
    #[serde(borrow)]
    currency: Option<Cow<'a, str>>,
    price: Option<u32>,
    #[serde(default)]
    smoke: bool,
    gate: Option<u8>,
    #[serde(borrow)]
    outcome: Option<Cow<'a, str>>,
    approved: Option<bool>,
    #[serde(borrow)]
    crosscheck_reason: Option<Cow<'a, str>>,
    #[serde(borrow)]
    divergence_level: Option<Cow<'a, str>>,
    #[serde(borrow)]
    details: Option<Details<'a>>,
}

/// The details of a record about an order.
#[derive(Deserialize)]
struct Details<'a> {
    #[serde(borrow)]
    ordered_by: Option<Cow<'a, str>>,
    next_attempt_at: Option<IgnoredAny>,
}

impl Line<'_> {
    /// The day (UTC) on which it was written.
    fn day(&self) -> String {
        self.timestamp.get(..10).unwrap_or(&self.timestamp).to_owned()
    }

    /// Whether its sale is a follow-up.
    fn is_of_followup(&self) -> bool {
        let session = self.session_id.as_deref().and_then(|id| SessionId::parse(id).ok());
        session.is_some_and(|session| session.is_followup())
    }

    /// The step that it ends. A failed attempt at a verdict that is followed by another one ends none.
    fn ended_step(&self) -> Option<Step> {
        let step = Step::of(self.source?, self.status?)?;
        let is_tried_again = self.details.as_ref().is_some_and(|details| details.next_attempt_at.is_some());
        (step != Step::VerdictFailed || !is_tried_again).then_some(step)
    }

    /// Its amount, if that is in the currency of all prices: amounts in other currencies cannot be added to it.
    fn cents(&self) -> Option<i64> {
        self.amount_total.filter(|_| self.is_in_the_currency())
    }

    /// What had gone back of the payment by then, if it is in the same currency.
    fn returned_cents(&self) -> i64 {
        self.amount_returned.filter(|_| self.is_in_the_currency()).unwrap_or_default()
    }

    fn is_in_the_currency(&self) -> bool {
        self.currency.as_deref() == Some(tier::CURRENCY)
    }

    /// Whether an operator ordered it: then it counts neither as double work nor as processing time.
    fn is_by_operator(&self) -> bool {
        self.details.as_ref().and_then(|details| details.ordered_by.as_deref()) == Some("operator")
    }
}

/// The money of one sale, from its records.
#[derive(Default)]
struct Account {
    /// Whether it is a follow-up, whose money is its session's.
    is_followup: bool,
    tier: Option<Tier>,
    /// Its first verdict.
    delivered: Option<Moment>,
    /// When the money went back, and the amount if it is recorded.
    refunded: Option<(Moment, Option<i64>)>,
    /// The parts of the money that went back, each with its amount.
    returned: Vec<(Moment, i64)>,
    /// Whether a dispute was lost or prevented: all of the money stays away, even if a refund fails.
    is_lost: bool,
    /// Refunds and parts of which either the refund or its failure is in the report's period, with the failures.
    bounced: Vec<Movement>,
    charged: Charged,
    /// Whether its session was unusable, so that nothing has compared the amount with the price of the tier that an
    /// operator chose.
    is_dropped: bool,
    /// The number of verdicts that are recorded as the first one, without those that an operator ordered or wrote.
    verdicts: u32,
    /// Whether a further one was made in the report's period.
    is_twice: bool,
    failed: bool,
}

/// What was charged for a sale.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Charged {
    /// The tier's price: no record names an amount.
    #[default]
    Price,
    /// This amount, in the currency of all prices.
    Cents(i64),
    /// Money in another currency, which enters no sum.
    Foreign,
}

impl Charged {
    fn of(line: &Line<'_>) -> Self {
        match line.cents() {
            Some(cents) => Self::Cents(cents),
            None if line.currency.is_some() && !line.is_in_the_currency() => Self::Foreign,
            None => Self::Price,
        }
    }

    /// The cents that enter the sums.
    const fn cents(self, price: i64) -> i64 {
        match self {
            Self::Price => price,
            Self::Cents(cents) => cents,
            Self::Foreign => 0,
        }
    }

    /// By how much it exceeds the price, if the two can be compared.
    const fn excess(self, price: i64) -> i64 {
        match self {
            Self::Cents(cents) => cents.saturating_sub(price),
            Self::Price | Self::Foreign => 0,
        }
    }
}

/// The time of an event.
struct Moment {
    /// The day (UTC).
    day: String,
    /// Whether it is in the report's period.
    counts: bool,
}

/// Money that went back to the customer, or came from there because its refund failed.
struct Movement {
    at: Moment,
    amount: Amount,
    is_failure: bool,
}

/// The amount of a movement.
#[derive(Clone, Copy)]
enum Amount {
    /// All of the payment, whose amount may be recorded, less the parts that went back otherwise.
    Rest {
        of: Option<i64>,
        in_parts: i64,
    },
    Part(i64),
}

impl Movement {
    const fn back(at: Moment, amount: Amount) -> Self {
        Self { at, amount, is_failure: false }
    }

    const fn is_refund(&self) -> bool {
        !self.is_failure && matches!(self.amount, Amount::Rest { .. })
    }

    /// The cents that it takes from the revenue, of a sale for which this was charged.
    const fn cents(&self, charged: i64) -> i64 {
        let cents = match self.amount {
            Amount::Rest { of: Some(paid), in_parts } => paid.saturating_sub(in_parts),
            Amount::Rest { of: None, in_parts } => charged.saturating_sub(in_parts),
            Amount::Part(cents) => cents,
        };
        if self.is_failure { cents.saturating_neg() } else { cents }
    }
}

/// The money of a day and a tier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Money {
    sold: u64,
    gross_cents: i64,
    refunds: u64,
    refunded_cents: i64,
}

/// Aggregates records.
#[derive(Clone, Debug, Default)]
pub struct Aggregate {
    period: Period,
    sales: u64,
    records: u64,
    unreadable: u64,
    processed_twice: u64,
    slow_verdicts: u64,
    money: BTreeMap<(String, Tier), Money>,
    without_verdict: u64,
    refunds_without_verdict: u64,
    other_amounts: u64,
    other_amounts_cents: i64,
    latency: BTreeMap<(Option<Tier>, Step), Histogram>,
    retrievals: Retrievals,
    mails: Mails,
    errors: BTreeMap<String, u64>,
    other_errors: u64,
    filter: BTreeMap<(u8, String), u64>,
    crosscheck: BTreeMap<(bool, String), u64>,
    divergences: BTreeMap<String, u64>,
    payments: Payments,
}

impl Aggregate {
    /// Counts only the records of this period. A sale is still read whole, because a sale that is refunded in one month
    /// was often sold in another.
    #[must_use]
    pub fn over(period: Period) -> Self {
        Self { period, ..Self::default() }
    }

    /// Adds all records of one sale, in their order. A line that cannot be read is counted and skipped.
    pub fn add_sale<'a>(&mut self, lines: impl IntoIterator<Item = &'a [u8]>) {
        let mut account = Account::default();
        let before = self.records;
        for line in lines {
            match serde_json::from_slice::<Line<'_>>(line) {
                // Smoke tests' sales are left out: they have no revenue, and no customer waited.
                Ok(line) if line.smoke => {}
                Ok(line) => {
                    let counts = self.period.holds(&line.timestamp);
                    account.add_record(&line, counts);
                    if counts {
                        self.records += 1;
                        self.count(&line, &account);
                    }
                }
                // Its time is unknown, so it counts in every period.
                Err(_) => {
                    self.records += 1;
                    self.unreadable += 1;
                }
            }
        }
        self.sales += u64::from(self.records > before && !account.is_followup);
        self.settle(account);
    }

    /// Adds the records of a purchase in USDC, or those of the toll function: agents' purchases are not sales of a
    /// tier. The checks of their answers count with all others.
    pub fn add_payments<'a>(&mut self, lines: impl IntoIterator<Item = &'a [u8]>) {
        for line in lines {
            match self.payments.add(line, &self.period) {
                Read::Counted(counts) => self.records += u64::from(counts),
                Read::Other => self.add_check(line),
                Read::Unreadable => {
                    self.records += 1;
                    self.unreadable += 1;
                }
            }
        }
    }

    /// Adds a run of the content filter or of the crosscheck. Other records of functions are in no report.
    fn add_check(&mut self, line: &[u8]) {
        let Ok(line) = serde_json::from_slice::<Line<'_>>(line) else { return };
        if self.period.holds(&line.timestamp) {
            self.records += 1;
            self.count(&line, &Account::default());
        }
    }

    /// The number of sales so far.
    #[must_use]
    pub const fn sales(&self) -> u64 {
        self.sales
    }

    /// The number of records so far.
    #[must_use]
    pub const fn records(&self) -> u64 {
        self.records
    }

    fn count(&mut self, line: &Line<'_>, account: &Account) {
        match &*line.event {
            "pipeline" => self.count_event(line, account),
            "amount_differs" => {
                self.count_other_amount(Charged::of(line).excess(i64::from(line.price.unwrap_or_default())));
            }
            "content_filter" => {
                let key = (line.gate.unwrap_or_default(), word(line.outcome.as_deref()));
                *self.filter.entry(key).or_default() += 1;
            }
            "tmm_crosscheck" => {
                let key = (line.approved == Some(true), word(line.crosscheck_reason.as_deref()));
                *self.crosscheck.entry(key).or_default() += 1;
            }
            "regen_divergence_check" => {
                let level = line.divergence_level.as_deref().unwrap_or("unknown");
                *self.divergences.entry(level.to_owned()).or_default() += 1;
            }
            _ => {}
        }
    }

    fn count_other_amount(&mut self, excess: i64) {
        self.other_amounts += 1;
        self.other_amounts_cents = self.other_amounts_cents.saturating_add(excess);
    }

    fn count_event(&mut self, line: &Line<'_>, account: &Account) {
        let Some(status) = line.status else { return };
        if let Some(step) = line.ended_step() {
            self.latency.entry((line.tier.or(account.tier), step)).or_default().add(line.latency_ms);
            match step {
                Step::Verdict => {
                    let is_slow = !line.is_by_operator() && line.latency_ms > SLOW_MS;
                    self.slow_verdicts += u64::from(is_slow);
                }
                Step::VerdictFailed => {}
                Step::Page => self.retrievals.cache += 1,
                Step::PageFromArchive => self.retrievals.archive += 1,
                Step::Regeneration => self.retrievals.regenerated += 1,
                Step::Mail => self.mails.sent += 1,
                Step::MailFailed => self.mails.failed += 1,
            }
        }
        if matches!(status, Status::Error | Status::EmailFailed) {
            let detail = word(line.error_detail.as_deref());
            if let Some(count) = self.errors.get_mut(&detail) {
                *count += 1;
            } else if self.errors.len() < MAX_ERRORS {
                self.errors.insert(detail, 1);
            } else {
                self.other_errors += 1;
            }
        }
    }

    /// Counts a sale once, with the amount charged, on the day of its first verdict; a refund is deducted on the day of
    /// the refund, and a part of the money on the day on which that part went back. A refund that fails in a later
    /// period is added again on the day of the failure; within one period neither counts. After a lost dispute no
    /// failure counts, because the money stays away. Money in another currency enters no sum. A follow-up has no money:
    /// its session is the sale.
    fn settle(&mut self, account: Account) {
        self.processed_twice += u64::from(account.is_twice);
        if account.is_followup {
            return;
        }
        let in_parts = account.returned_cents();
        let rest = account.refunded.map(|(at, of)| Movement::back(at, Amount::Rest { of, in_parts }));
        let parts = account.returned.into_iter().map(|(at, cents)| Movement::back(at, Amount::Part(cents)));
        let mut movements = account.bounced.into_iter().chain(rest).chain(parts).filter(|movement| movement.at.counts);
        match (account.delivered, account.tier) {
            (Some(delivered), Some(tier)) => {
                let price = i64::from(tier.price_cents());
                let charged = account.charged.cents(price);
                if delivered.counts {
                    let excess = account.charged.excess(price);
                    if account.is_dropped && (excess != 0 || account.charged == Charged::Foreign) {
                        self.count_other_amount(excess);
                    }
                    let money = self.money.entry((delivered.day, tier)).or_default();
                    money.sold += 1;
                    money.gross_cents = money.gross_cents.saturating_add(charged);
                }
                for movement in movements {
                    let (is_refund, cents) = (movement.is_refund(), movement.cents(charged));
                    let money = self.money.entry((movement.at.day, tier)).or_default();
                    money.refunds += u64::from(is_refund);
                    money.refunded_cents = money.refunded_cents.saturating_add(cents);
                }
            }
            _ => {
                self.without_verdict += u64::from(account.failed);
                self.refunds_without_verdict += u64::from(movements.any(|movement| movement.is_refund()));
            }
        }
    }

    /// The report.
    #[must_use]
    pub fn finish(self) -> Report {
        let revenue = self.money.into_iter().map(|((day, tier), money)| Revenue {
            day,
            tier,
            sold: money.sold,
            gross_cents: money.gross_cents,
            refunds: money.refunds,
            net_cents: money.gross_cents - money.refunded_cents,
        });
        let quantile = |histogram: &Histogram, per_cent| histogram.quantile(per_cent).unwrap_or_default();
        let latency = self.latency.into_iter().map(|((tier, step), histogram)| Latency {
            tier,
            step,
            count: histogram.count(),
            p50_ms: quantile(&histogram, 50),
            p95_ms: quantile(&histogram, 95),
            p99_ms: quantile(&histogram, 99),
            greatest_ms: histogram.greatest(),
        });
        let mut errors: Vec<Counted> =
            self.errors.into_iter().map(|(detail, count)| Counted { detail, count }).collect();
        errors.sort_by(|one, other| other.count.cmp(&one.count).then_with(|| one.detail.cmp(&other.detail)));
        let rest: u64 = errors.iter().skip(TOP_ERRORS).map(|error| error.count).sum();
        errors.truncate(TOP_ERRORS);
        let filter = self.filter.into_iter().map(|((gate, outcome), count)| Filtered { gate, outcome, count });
        let crosscheck =
            self.crosscheck.into_iter().map(|((approved, reason), count)| Crosschecked { approved, reason, count });
        let divergences = self.divergences.into_iter().map(|(level, count)| Diverged { level, count });
        Report {
            sales: self.sales,
            records: self.records,
            unreadable: self.unreadable,
            processed_twice: self.processed_twice,
            slow_verdicts: self.slow_verdicts,
            currency: tier::CURRENCY,
            revenue: revenue.collect(),
            without_verdict: self.without_verdict,
            refunds_without_verdict: self.refunds_without_verdict,
            other_amounts: self.other_amounts,
            other_amounts_cents: self.other_amounts_cents,
            latency: latency.collect(),
            retrievals: self.retrievals,
            mails: self.mails,
            errors,
            other_errors: self.other_errors + rest,
            filter: filter.collect(),
            crosscheck: crosscheck.collect(),
            divergences: divergences.collect(),
            toll: self.payments.finish(),
        }
    }
}

impl Account {
    /// Adds the money in a record. `counts` is whether the record is in the report's period.
    fn add_record(&mut self, line: &Line<'_>, counts: bool) {
        self.is_followup |= line.is_of_followup();
        self.tier = line.tier.or(self.tier);
        match &*line.event {
            "pipeline" => match line.ended_step() {
                Some(Step::Verdict) => {
                    self.delivered.get_or_insert_with(|| Moment { day: line.day(), counts });
                    if !line.is_by_operator() {
                        self.verdicts += 1;
                        self.is_twice |= self.verdicts > 1 && counts;
                    }
                }
                Some(Step::VerdictFailed) => self.failed |= counts,
                _ => {}
            },
            "refund" => match line.step {
                Some(RefundStep::Issued | RefundStep::Confirmed) => self.went_back(line, counts),
                Some(RefundStep::Failed) => self.refund_failed(line, counts),
                Some(RefundStep::Authorised) | None => {}
            },
            "operator" if line.action.as_deref() == Some("refunded by hand") => self.went_back(line, counts),
            "payment_change" => match line.change {
                Some(PaymentChange::Refunded) => self.went_back(line, counts),
                Some(PaymentChange::DisputeLost | PaymentChange::DisputePrevented) => {
                    self.went_back(line, counts);
                    self.is_lost = true;
                }
                Some(PaymentChange::RefundFailed) => {
                    self.refund_failed(line, counts);
                    self.returned_in_part(line, counts);
                }
                Some(PaymentChange::PartlyRefunded) => self.returned_in_part(line, counts),
                _ => {}
            },
            "amount_differs" => {
                self.charged = Charged::of(line);
                // The record itself is counted.
                self.is_dropped = false;
            }
            // An operator may choose any tier for an unusable session, whatever was charged for it.
            "silent_drop" => {
                self.charged = Charged::of(line);
                self.is_dropped = true;
            }
            _ => {}
        }
    }

    /// Takes back the last parts, or adds a further one: the record has the sum of all.
    fn returned_in_part(&mut self, line: &Line<'_>, counts: bool) {
        if self.is_lost {
            return;
        }
        while self.returned_cents() > line.returned_cents()
            && let Some((at, cents)) = self.returned.pop()
        {
            self.record_bounce(at, Amount::Part(cents), line, counts);
        }
        let more = line.returned_cents() - self.returned_cents();
        if more > 0 {
            self.returned.push((Moment { day: line.day(), counts }, more));
        }
    }

    fn refund_failed(&mut self, line: &Line<'_>, counts: bool) {
        if !self.is_lost
            && let Some((at, of)) = self.refunded.take()
        {
            self.record_bounce(at, Amount::Rest { of, in_parts: self.returned_cents() }, line, counts);
        }
    }

    /// Keeps a movement and its failure if only one of them is in the report's period: the other period's report has
    /// the other one.
    fn record_bounce(&mut self, at: Moment, amount: Amount, failure: &Line<'_>, counts: bool) {
        if at.counts != counts {
            let failed_at = Moment { day: failure.day(), counts };
            self.bounced.push(Movement::back(at, amount));
            self.bounced.push(Movement { at: failed_at, amount, is_failure: true });
        }
    }

    fn returned_cents(&self) -> i64 {
        self.returned.iter().map(|(_, cents)| cents).sum()
    }

    fn went_back(&mut self, line: &Line<'_>, counts: bool) {
        self.refunded.get_or_insert_with(|| (Moment { day: line.day(), counts }, line.cents()));
    }
}

fn word(text: Option<&str>) -> String {
    text.unwrap_or("unspecified").to_owned()
}

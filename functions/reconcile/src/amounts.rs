//! Sales that were paid with another amount than the tier's price.

use audit::{Change, Context, Journal};
use domain::{
    Alert, CheckoutSession, Sale, StepError, alert::Severity, ports::Versioned, sale::Charge, tier::CURRENCY,
};

/// The tier's price, if another amount or another currency was paid (Product Tiers, invariant 1).
fn other_price(session: &CheckoutSession) -> Option<u32> {
    let price = session.submission().ok()?.tier.price_cents();
    let same = session.amount_total == Some(i64::from(price)) && session.currency.as_deref() == Some(CURRENCY);
    (!same).then_some(price)
}

/// Whether we may have more than the price, after what was given back. No code raises a price, so a Payment Link, a tax or a
/// converted price is wrong, or the price was lowered since. The amount of another currency cannot be compared.
fn may_be_overpaid(session: &CheckoutSession, sale: &Sale, price: u32) -> bool {
    let returned = sale.payment().returned(session.amount_total).amount;
    sale.is_money_kept()
        && (session.currency.as_deref().is_some_and(|currency| currency != CURRENCY)
            || session.amount_total.is_some_and(|amount| amount.saturating_sub(returned) > i64::from(price)))
}

/// Records and alerts once that another amount than the tier's price was paid. A promotion code is the usual reason; if
/// too much was paid and is still here, an operator has to give the difference back.
///
/// Returns whether it is recorded now.
///
/// # Errors
/// [`StepError`]: it is not recorded, or it is and the reply was lost.
pub(crate) async fn record_amount(
    journal: Journal<'_>,
    session: &CheckoutSession,
    sale: Versioned<Sale>,
) -> Result<bool, StepError> {
    let Some(price) = other_price(session).filter(|_| !sale.value.is_amount_noted()) else { return Ok(false) };
    let paid = session.amount_total.map_or_else(|| "unknown".to_owned(), |amount| amount.to_string());
    // An error and no critical alert: a link that is wrong makes one of each of its sales, and a storm withholds errors.
    let (severity, reason) = if may_be_overpaid(session, &sale.value, price) {
        (Severity::Error, "give back what is too much; oracle doctor names a wrong Payment Link")
    } else {
        (Severity::Warn, "a promotion code, or a wrong price?")
    };
    let currency = session.currency.as_deref().unwrap_or("?");
    let detail = format!("paid {paid} {currency}, the price is {price} {CURRENCY}: {reason}");
    let record = |sale: &mut Sale, now| {
        let Ok(event) = sale.amount_noted(Charge::of(session), price) else { return Change::nothing(false) };
        let alert = Alert::event("ORACLE-RECONCILE", severity, now, "AMOUNT", &session.id, &detail);
        Change::of(&event, &Context::at(now), true).alerting(alert)
    };
    let (_, is_new) = journal.commit(sale, record).await?.settle().await;
    Ok(is_new)
}

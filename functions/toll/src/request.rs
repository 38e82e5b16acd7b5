//! One request for an answer: parses the question, and sells the answer or asks for a payment.

use crate::{
    Ports, Settings,
    payment_means::{PaymentMeans, unnamed},
    rejection_records, reply,
    request_body::{self, QuestionBody},
    sell::{PaidRequest, not_now},
};
use audit::{CommitError, TollStatus};
use authority::{Evaluation, Refusal, evaluate};
use chain::payment::{PaymentError, Price};
use domain::toll::Offer;
use runtime::http::{Reply, Request};
use serde_json::json;

/// Handles one request for an answer, paid or not.
pub(crate) async fn sell(ports: Ports<'_>, settings: &Settings, request: Request) -> Reply {
    let asked_at = ports.journal.clock.now();
    let Some(offer) = Offer::at(request.path()) else {
        return Reply::error(404, "not_found", "There is nothing at this address.");
    };
    let QuestionBody { query, locale } = match request_body::parse(request.body(), offer) {
        Ok(asked) => asked,
        Err((code, sentence)) => return Reply::error(400, code, &sentence),
    };
    // The gate runs before any payment, because a question that must not be answered is not sold.
    let evaluation = evaluate(query.as_str(), locale.as_deref());
    let mut price = settings.terms.price(offer);
    let means = match PaymentMeans::of(&request) {
        Ok(Some(means)) => means,
        _ if settings.terms.pay_to.is_none() => return reply::closed(),
        unpaid => {
            if let Some(declined) = declined(ports, offer, &evaluation).await {
                return declined;
            }
            return match unpaid {
                Err(unreadable) => Reply::error(400, "payment_unreadable", &unreadable),
                Ok(_) => reply::payment_required(&settings.terms, offer, "A payment is required."),
            };
        }
    };
    let mut checked = means.checked(&price);
    if matches!(checked, Err(PaymentError::Recipient | PaymentError::Amount)) {
        match begun_price(ports, &means, offer, &price).await {
            Ok(None) => {}
            Ok(Some(begun)) => {
                checked = means.checked(&begun);
                price = begun;
            }
            Err(error) => return not_now(ports, offer, &evaluation, &error).await,
        }
    }
    let means = match checked {
        Ok(checked) => checked,
        Err(error) => {
            if let Some(declined) = declined(ports, offer, &evaluation).await {
                return declined;
            }
            let why = error.to_string();
            let rejected = (TollStatus::PaymentRejected, why.as_str());
            rejection_records::record(ports, offer, Some(&query), None, rejected, asked_at).await;
            return reply::payment_required(&settings.terms, offer, &why);
        }
    };
    let network = request.network();
    PaidRequest { ports, settings, offer, price, query, evaluation, means, asked_at, network }.sell().await
}

/// The price of the purchase that a signed payment has begun. The address or the price may have changed since, and the
/// payer has paid the earlier one.
async fn begun_price(
    ports: Ports<'_>,
    means: &PaymentMeans,
    offer: Offer,
    price: &Price,
) -> Result<Option<Price>, CommitError> {
    let Some(id) = means.signed_purchase(price.network) else { return Ok(None) };
    let Some(found) = ports.journal.store.load(&id.map_err(unnamed)?).await? else { return Ok(None) };
    let signed = found.value.signed().filter(|_| found.value.offer() == offer);
    Ok(signed.map(|signed| price.of_stored(signed)))
}

/// The reply to a question that the gate declines before anything is paid or taken, once that is recorded; `None` if the
/// gate does not decline it.
async fn declined(ports: Ports<'_>, offer: Offer, evaluation: &Evaluation) -> Option<Reply> {
    let body = Refusal::of(evaluation)?;
    rejection_records::declined(ports, offer, evaluation).await;
    Some(Reply::json(reply::DECLINED, &json!(body)))
}

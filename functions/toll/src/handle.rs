//! Handles one request: parses the question, and sells the answer or asks for a payment.

use crate::{
    ask::{self, Asked, MAX_BODY_BYTES},
    mcp,
    means::Means,
    rejected, reply,
    sell::Sale,
    settings::Settings,
};
use audit::{FunctionJournal, TollJournal, TollStatus};
use authority::{Refusal, evaluate};
use domain::{
    ports::{Breakers, Corpora, Facilitator, Meter, Model, Node, Notes, Pause, Randomness},
    toll::Offer,
};
use retrieval::Library;
use runtime::http::{Reply, Request};
use serde_json::json;

/// The ports of the function.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Ports<'a> {
    pub journal: TollJournal<'a>,
    /// The stream for payments that were refused and have no purchase.
    pub rejections: FunctionJournal<'a>,
    pub facilitator: &'a dyn Facilitator,
    pub node: &'a dyn Node,
    pub model: &'a dyn Model,
    pub corpus: Corpus<'a>,
    pub breakers: &'a dyn Breakers,
    pub randomness: &'a dyn Randomness,
    pub pause: &'a dyn Pause,
    pub meter: &'a dyn Meter,
}

/// The corpus that answers draw on.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Corpus<'a> {
    /// The store of the note that names the version in use.
    pub notes: &'a dyn Notes,
    pub corpora: &'a dyn Corpora,
    /// The index that the process has loaded.
    pub library: &'a Library,
}

/// Handles one request.
pub async fn handle(ports: Ports<'_>, settings: &Settings, request: Request) -> Reply {
    if request.body().len() > MAX_BODY_BYTES {
        return Reply::error(413, "too_large", "The request is larger than 256 KiB.");
    }
    match request.path() {
        mcp::PATH => mcp::answer(ports, settings, &request).await,
        _ => sell(ports, settings, request).await,
    }
}

/// Handles one request for an answer, paid or not.
pub(crate) async fn sell(ports: Ports<'_>, settings: &Settings, request: Request) -> Reply {
    let asked_at = ports.journal.clock.now();
    let Some(offer) = Offer::at(request.path()) else {
        return Reply::error(404, "not_found", "There is nothing at this address.");
    };
    let Asked { query, locale } = match ask::parse(request.body(), offer) {
        Ok(asked) => asked,
        Err((code, sentence)) => return Reply::error(400, code, &sentence),
    };
    // The gate runs before any payment, because a question that must not be answered is not sold.
    let evaluation = evaluate(query.as_str(), locale.as_deref());
    let price = settings.terms.price(offer);
    let means = match Means::of(&request) {
        Ok(Some(means)) => means,
        Ok(None) => {
            return match Refusal::of(&evaluation) {
                Some(body) => {
                    rejected::declined(ports.rejections, ports.meter, offer, &query, &evaluation).await;
                    Reply::json(reply::DECLINED, &json!(body))
                }
                None => reply::payment_required(&settings.terms, offer, "A payment is required."),
            };
        }
        Err(unreadable) => return Reply::error(400, "payment_unreadable", &unreadable),
    };
    let means = match means.checked(&price) {
        Ok(means) => means,
        Err(error) => {
            let why = error.to_string();
            let rejected = (TollStatus::PaymentRejected, why.as_str());
            rejected::record(ports.rejections, ports.meter, offer, &query, None, rejected, asked_at).await;
            return reply::payment_required(&settings.terms, offer, &why);
        }
    };
    Sale::new(ports, settings, offer, query, evaluation, means, asked_at).sell().await
}

//! Tells an outage of a facilitator or a node from a fault that somebody has to mend.

use crate::{
    facilitator::Answered,
    http::CallError,
    node::{NoReply, Refused},
};
use std::error::Error;

/// Whether this source of an error of a facilitator or a node says that it was too slow or too busy, or has failed
/// itself: it may answer a moment later.
#[must_use]
pub fn is_outage(source: &(dyn Error + 'static)) -> bool {
    let call = source.downcast_ref::<CallError>();
    let call = call.or_else(|| source.downcast_ref::<NoReply>().map(|lost| &lost.error));
    if let Some(CallError::Lost(error)) = call {
        return error.is_timeout();
    }
    let status = match call {
        Some(CallError::NotJson(status)) => Some(*status),
        _ => source.downcast_ref::<Answered>().map(|answered| answered.0),
    };
    let status = status.or_else(|| source.downcast_ref::<Refused>().map(|refused| refused.status));
    status.is_some_and(|status| status == 429 || status >= 500)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FacilitatorClient, Network, NodeClient};
    use alloy_primitives::Address;
    use domain::{Timestamp, ports::Clock};
    use std::sync::Arc;
    use test_server::{Request, with_server};

    struct Still;

    impl Clock for Still {
        fn now(&self) -> Timestamp {
            Timestamp::from_seconds(0)
        }
    }

    #[tokio::test]
    async fn an_outage_is_distinguished_from_a_wrong_address() {
        for (status, lines, body, expected) in [
            (429, "", "{}", true),
            (429, "", "slow down", true),
            (500, "", "{}", true),
            (503, "", "no backend", true),
            (200, "", "{}", false),
            (200, "", "a page", false),
            (404, "", "a page", false),
            (301, "location: https://www.x402.example/\r\n", "", false),
        ] {
            let answer = |_: &Request| test_server::reply(status, lines, body);
            let ask = async |url: String| {
                let facilitator = FacilitatorClient::new(&url).unwrap();
                let node = NodeClient::new(&url, Network::Base, Address::ZERO, Arc::new(Still)).unwrap();
                let of_facilitator = facilitator.unsupported_versions(Network::Base).await.unwrap_err();
                let of_node = node.check().await.unwrap_err();
                [of_facilitator.source().is_some_and(is_outage), of_node.source().is_some_and(is_outage)]
            };
            assert_eq!(with_server(answer, ask).await, [expected; 2], "{status} {body}");
        }
    }
}

//! Checks that payments in USDC can be settled and looked up.

use crate::Finding;
use chain::{FacilitatorClient, Network, NodeClient};
use domain::{
    Timestamp,
    ports::{FacilitatorError, Purchases, StorageError},
    toll::List,
};
use std::error::Error;

const FACILITATOR: &str = "x402 facilitator";
const NODE: &str = "node of the chain";

/// The subjects of [`toll`].
pub const TOLL_SUBJECTS: [&str; 2] = [FACILITATOR, NODE];

/// Whether the facilitator and the node are needed: USDC is accepted, or a purchase that has begun is open.
///
/// # Errors
/// [`StorageError`] when the lists of open purchases cannot be read.
pub async fn needs_toll(accepts_usdc: bool, purchases: &dyn Purchases) -> Result<bool, StorageError> {
    if accepts_usdc {
        return Ok(true);
    }
    // The lists are by the time at which a purchase is due, which may be an hour away.
    let whenever_due = Timestamp::from_millis(i64::MAX);
    for list in [List::Machines, List::Humans] {
        if !purchases.listed(list, whenever_due).await?.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Checks the facilitator and the node, which need no key of ours. Changes nothing and costs nothing. A call that fails
/// is made once more; if it fails again, that is a finding. During an outage it is unknown whether they are set up
/// correctly: an alarm reports agents that are turned away meanwhile.
pub async fn toll(facilitator: &FacilitatorClient, node: &NodeClient, network: Network) -> Vec<Finding> {
    let mut unsupported = facilitator.unsupported_versions(network).await;
    if unsupported.is_err() {
        unsupported = facilitator.unsupported_versions(network).await;
    }
    let mut findings = of_facilitator(unsupported, network);
    let mut checked = node.check().await;
    if checked.is_err() {
        checked = node.check().await;
    }
    findings.extend(of_node(checked));
    findings
}

fn of_facilitator(unsupported: Result<Vec<u8>, FacilitatorError>, network: Network) -> Vec<Finding> {
    let found = |problem: String| {
        Finding::new(FACILITATOR, problem, "deploy with a TollFacilitatorUrl that serves TollNetwork without a key")
    };
    match unsupported {
        Ok(versions) => {
            let refused = |version| {
                let network = network.name();
                found(format!("it settles no `exact` payments on {network} in version {version} of x402"))
            };
            versions.into_iter().map(refused).collect()
        }
        Err(error) => vec![Finding { is_unknown: is_outage(&error), ..found(with_cause(&error)) }],
    }
}

fn of_node(checked: Result<(), StorageError>) -> Vec<Finding> {
    let remedy = "deploy with a TollRpcUrl of TollNetwork that needs no key, answers eth_getLogs for 1,800 blocks at \
                  once and has their receipts; otherwise payments may not be found, and sales not be confirmed";
    let found = |error: StorageError| Finding {
        is_unknown: is_outage(&error),
        ..Finding::new(NODE, with_cause(&error), remedy)
    };
    checked.err().map(found).into_iter().collect()
}

fn is_outage(error: &dyn Error) -> bool {
    error.source().is_some_and(chain::is_outage)
}

/// The error and its cause, such as the address that a redirect leads to.
fn with_cause(error: &dyn Error) -> String {
    error.source().map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(findings: &[Finding]) -> Vec<&str> {
        assert!(findings.iter().all(|it| !it.is_unknown), "boot-probe raises no alert for what is unknown");
        findings.iter().map(|it| it.problem.as_str()).collect()
    }

    #[test]
    fn what_a_facilitator_does_not_settle_is_found() {
        let of = |unsupported| of_facilitator(unsupported, Network::Base);
        assert_eq!(of(Ok(vec![])), []);
        let [one, two] = [1, 2].map(|it| format!("it settles no `exact` payments on base in version {it} of x402"));
        assert_eq!(problems(&of(Ok(vec![1, 2]))), [&one, &two]);
        let moved = FacilitatorError::Unavailable("the reply is a redirect to www.x402.org/facilitator".into());
        let says = "the facilitator is unavailable: the reply is a redirect to www.x402.org/facilitator";
        assert_eq!(problems(&of(Err(moved))), [says]);
    }

    #[test]
    fn a_node_that_does_not_answer_as_it_must_is_found() {
        assert_eq!(of_node(Ok(())), []);
        let failed = StorageError { operation: "node call", source: "eth_getLogs: status 413, error -32614".into() };
        assert_eq!(problems(&of_node(Err(failed))), ["node call failed: eth_getLogs: status 413, error -32614"]);
    }
}

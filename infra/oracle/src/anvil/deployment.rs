//! Observes a stack that is being deployed, for `oracle anvil assess deploy` without a document.

use std::time::Duration;

use anvil_rules::evidence::{Canary, Deployment};
use aws::{FunctionVersion, StackWatch};
use domain::{Timestamp, ports::Clock};
use runtime::System;

use crate::{
    command::{CommandError, Target, wait},
    stack::{Deployed, account::Account},
};

/// The alias that shifts traffic to a new version.
const ALIAS: &str = "live";

/// The stack's outputs with the names of the functions whose traffic shifts.
const FUNCTIONS: [&str; 5] = [
    "CheckoutFunctionName",
    "WebhookFunctionName",
    "VerdictFunctionName",
    "ResultFunctionName",
    "EmailSenderFunctionName",
];

/// Reads the last smoke test, the alarms, the stack's events and the canary. A source that cannot be read counts as not
/// observed.
pub(crate) fn observe(target: &Target, window: Duration) -> Result<(String, Deployment), CommandError> {
    let deployed = target.open()?;
    let now = System.now();
    let observed = wait(async {
        let notes = deployed.notes();
        let watch = deployed.stack_watch();
        let functions = function_names(&deployed);
        let (alarms, by_outsiders) =
            watch.ringing().await.ok().map(|raised| (raised.by_faults, raised.by_outsiders)).unzip();
        let smoke = match deployed.account.deployed_at(deployed.name()).await {
            Ok(deployed_at) => release::last_smoke_test(notes.as_ref(), now, deployed_at).await.ok().flatten(),
            Err(_) => None,
        };
        Ok(Deployment {
            smoke,
            alarms,
            alarms_by_outsiders: by_outsiders.unwrap_or_default(),
            removed: watch.replaced().await.ok(),
            canary: match functions {
                Some(functions) => canary(&deployed.account, &watch, &functions, window, now).await,
                None => None,
            },
            ..Deployment::default()
        })
    })?;
    Ok((deployed.name().to_owned(), observed))
}

/// The names of all functions, or `None` if one is missing, because the canary would then be incomplete.
fn function_names(deployed: &Deployed) -> Option<Vec<String>> {
    FUNCTIONS.iter().map(|output| deployed.output(output).map(str::to_owned)).collect()
}

/// The number of calls of the new versions within the window, and of the failed ones; `None` if one of the functions
/// could not be read.
async fn canary(
    account: &Account,
    watch: &StackWatch,
    functions: &[String],
    window: Duration,
    now: Timestamp,
) -> Option<Canary> {
    let (calls, mut versions) = (account.signed_calls(), Vec::new());
    for function in functions {
        let version = calls.newest_version(function, ALIAS).await.ok()?;
        versions.push(FunctionVersion::parse(&format!("{function}:{version}"))?);
    }
    let traffic = watch.traffic(&versions, window, now).await.ok()?;
    Some(Canary { requests: traffic.requests, errors: traffic.errors })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack::account::Wanted;
    use aws::Connection;
    use test_server::{Reply, Request, Server};

    const NOW: Timestamp = Timestamp::from_seconds(1_795_000_000);

    /// AWS's answers: aliases by function, and the sums by (function, version, metric).
    #[derive(Default)]
    struct Answers {
        aliases: Vec<(&'static str, &'static str)>,
        sums: Vec<(&'static str, &'static str, &'static str, Vec<f64>)>,
    }

    /// CloudWatch's reply in its protocol's CBOR: {"Datapoints": [{"Sum": …}, …]}.
    fn datapoints(sums: &[f64]) -> Vec<u8> {
        let text = |text: &str| [vec![0x60 | u8::try_from(text.len()).unwrap()], text.as_bytes().to_vec()].concat();
        let mut bytes = [vec![0xa1], text("Datapoints"), vec![0x80 | u8::try_from(sums.len()).unwrap()]].concat();
        for sum in sums {
            bytes.extend([vec![0xa1], text("Sum"), vec![0xfb], sum.to_be_bytes().to_vec()].concat());
        }
        bytes
    }

    fn reply(answers: &Answers, request: &Request) -> Reply {
        if request.line.starts_with("GET ") {
            let is_asked = |function: &str| request.line.contains(&format!("/functions/{function}/aliases/live"));
            let alias = answers.aliases.iter().find(|(function, _)| is_asked(function));
            return alias.map_or_else(|| test_server::json(404, ""), |(_, alias)| test_server::json(200, alias));
        }
        let text = String::from_utf8_lossy(&request.body);
        let has = |needle: &str| text.contains(needle);
        assert!(has("ExecutedVersion") && has("Resource"), "{text}");
        let sums = answers.sums.iter().find(|(function, version, metric, _)| {
            // In CBOR a text of one byte has the head 0x61.
            let is_version = request.body.windows(2).any(|pair| pair == [0x61, version.as_bytes()[0]]);
            has(&format!("{function}:live")) && has(metric) && is_version
        });
        let (status, body) = sums.map_or((500, Vec::new()), |(.., sums)| (200, datapoints(sums)));
        let kind = "Content-Type: application/cbor\r\nsmithy-protocol: rpc-v2-cbor";
        let length = body.len();
        let head = format!("HTTP/1.1 {status} X\r\n{kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
        Reply::Bytes([head.into_bytes(), body].concat())
    }

    fn observed(answers: Answers, functions: &[&str]) -> Option<Canary> {
        wait(async {
            let url = Server::answering(move |request| reply(&answers, request)).await.url;
            let connection = Connection::from_environment(|name| match name {
                "AWS_ENDPOINT_URL" => Some(url.clone()),
                "AWS_REGION" => Some("us-east-1".to_owned()),
                "AWS_ACCESS_KEY_ID" | "AWS_SECRET_ACCESS_KEY" => Some("test".to_owned()),
                _ => None,
            });
            let watch = StackWatch::new(connection.unwrap(), "oracle".to_owned());
            let wanted = Wanted { profile: None, region: Some("us-east-1".to_owned()), emulator: Some(url) };
            let account = Account::find(&wanted).await.unwrap();
            let functions: Vec<String> = functions.iter().map(|function| (*function).to_owned()).collect();
            Ok(canary(&account, &watch, &functions, Duration::from_secs(900), NOW).await)
        })
        .unwrap()
    }

    const SHIFTING: &str =
        r#"{"Name":"live","FunctionVersion":"7","RoutingConfig":{"AdditionalVersionWeights":{"8":0.1}}}"#;
    const SHIFTED: &str = r#"{"Name":"live","FunctionVersion":"9","RoutingConfig":null}"#;

    #[test]
    fn the_canary_is_the_new_versions_of_all_functions() {
        let answers = || Answers {
            aliases: vec![("checkout", SHIFTING), ("webhook", SHIFTED)],
            sums: vec![
                ("checkout", "8", "Invocations", vec![100.0, 20.0]),
                ("checkout", "8", "Errors", vec![3.0]),
                ("checkout", "7", "Invocations", vec![9000.0]),
                ("checkout", "7", "Errors", vec![0.0]),
                ("webhook", "9", "Invocations", vec![]),
                ("webhook", "9", "Errors", vec![]),
            ],
        };
        let found = observed(answers(), &["checkout", "webhook"]).unwrap();
        assert_eq!((found.requests, found.errors), (120, 3));
        // If an alias or a figure cannot be read, the canary counts as not observed instead of sound.
        assert!(observed(answers(), &["checkout", "verdict"]).is_none());
        let mut without = answers();
        without.sums.retain(|(function, _, metric, _)| (*function, *metric) != ("checkout", "Errors"));
        assert!(observed(without, &["checkout"]).is_none());
    }
}

//! `oracle doctor`: checks whether the accounts are set up as the stack needs.

use doctor::{Finding, Vendors, account, examine};
use serde_json::json;

use crate::{
    command::{CommandError, Ended, Target, wait},
    stack::Deployed,
    terminal::output,
};

pub(crate) fn run(target: &Target) -> Result<Ended, CommandError> {
    let deployed = target.open()?;
    let findings = wait(async { findings(&deployed).await })?;
    if target.json {
        let line = |it: &Finding| json!({ "subject": it.subject, "problem": it.problem, "remedy": it.remedy, "unknown": it.is_unknown });
        let lines: Vec<_> = findings.iter().map(line).collect();
        output::print_json(&json!({ "stack": deployed.name(), "findings": lines }))?;
    } else {
        output::print(&for_people(deployed.name(), &findings, output::width()))?;
    }
    Ok(if findings.is_empty() { Ended::Done } else { Ended::Nothing })
}

async fn findings(deployed: &Deployed) -> Result<Vec<Finding>, CommandError> {
    let site = deployed.output("SiteUrl").unwrap_or_default();
    let models: Vec<&str> = deployed.output("GeminiModels").unwrap_or_default().split(',').map(str::trim).collect();
    let backend = deployed.backend();
    let (stripe, selling, refunding) = (backend.stripe()?, backend.stripe_selling()?, backend.stripe_refunding()?);
    let (gemini, mailbox) = (deployed.gemini()?, backend.mailbox()?);
    let vendors = Vendors {
        site,
        stripe: &stripe,
        selling: &selling,
        refunding: &refunding,
        gemini: &gemini,
        models: &models,
        mailbox: &mailbox,
    };
    let mut findings = examine(vendors).await;
    let accepts_usdc = deployed.output("TollPayTo").is_some();
    match doctor::needs_toll(accepts_usdc, &deployed.stores.sales).await {
        Ok(true) => {
            let toll = backend.settlement_clients()?;
            findings.extend(doctor::toll(&toll.facilitator, &toll.node, toll.network).await);
        }
        Ok(false) => {}
        Err(error) => findings.push(Finding::unknown(
            "purchases in USDC",
            &error,
            "see that your own role may query the table's index of open work",
        )),
    }
    findings.extend(of_account(deployed).await);
    Ok(findings)
}

async fn of_account(deployed: &Deployed) -> Vec<Finding> {
    let mut findings = Vec::new();
    let reach = deployed.reach();
    for (subject, output) in [("ops topic", "OpsTopicArn"), ("critical topic", "CriticalTopicArn")] {
        let arn = deployed.output(output).unwrap_or_default();
        findings.extend(match reach.subscriptions(arn).await {
            Ok(found) => account::topic(subject, found.confirmed, found.pending),
            Err(error) => vec![Finding::unknown(subject, &error, "see that your own role may read the topic")],
        });
    }
    let calls = deployed.account.signed_calls();
    let unknown = |subject, error: Box<dyn std::error::Error + Send + Sync>, remedy: &str| {
        vec![Finding::unknown(subject, error.as_ref(), remedy)]
    };
    findings.extend(match calls.log_groups(&format!("/aws/lambda/{}-", deployed.name())).await {
        Ok(groups) => account::logs(&groups),
        Err(error) => unknown("log retention", error, "see that your own role has logs:DescribeLogGroups"),
    });
    if deployed.output("MailVendor") == Some("ses") {
        let identity = deployed.output("SesIdentity").unwrap_or_default();
        findings.extend(match calls.mail_service(identity).await {
            Ok(service) => account::mail_service(service),
            Err(error) => {
                unknown("Amazon SES", error, "see that your own role has ses:GetAccount, ses:GetEmailIdentity")
            }
        });
    }
    let concurrency = |name| deployed.output(name).and_then(|number| number.parse().ok()).unwrap_or_default();
    let (orders, mails) = (concurrency("OrdersConcurrency"), concurrency("MailConcurrency"));
    findings.extend(match calls.concurrency_limit().await {
        Ok(limit) => account::concurrency(limit, orders, mails),
        Err(error) => unknown("Lambda concurrency", error, "see that your own role has lambda:GetAccountSettings"),
    });
    findings
}

fn for_people(stack: &str, findings: &[Finding], width: usize) -> String {
    if findings.is_empty() {
        return format!("{stack}: vendors' accounts and the AWS account are set up as they must be\n");
    }
    let mut text = format!("{stack}: {} finding(s)\n", findings.len());
    for finding in findings {
        let line = format!("{}: {}", finding.subject, finding.problem);
        text.push_str(&format!(
            "\n{}{}",
            output::wrapped(&output::printable(&line), 0, width),
            output::wrapped(&output::printable(&format!("→ {}", finding.remedy)), 2, width)
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_finding_says_what_to_do() {
        let text = for_people("oracle", &account::topic("ops topic", 0, 0), 80);
        assert!(text.starts_with("oracle: 1 finding(s)\n\nops topic: nobody has subscribed"), "{text}");
        assert!(text.contains("\n  → deploy with AlertEmail"), "{text}");
        assert!(for_people("oracle", &[], 80).contains("as they must be"));
    }
}

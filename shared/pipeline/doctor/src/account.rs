//! Checks the settings of the AWS account that a deployment does not make itself, from data that was read.

use crate::Finding;

/// The consumers of notices and payments: each works on two messages at the same time.
const OTHER_CONSUMERS: u64 = 2 * 2;

/// The consumers of mails: first attempts and retries, each with `MailConcurrency`.
const MAIL_CONSUMERS: u64 = 2;

/// The concurrency for the API's functions and the schedules, in addition to the queues' consumers.
const FOR_THE_SITE: u64 = 10;

/// Checks that a topic has a confirmed subscriber.
#[must_use]
pub fn topic(subject: &'static str, confirmed: u64, pending: u64) -> Vec<Finding> {
    let found = |problem: String, remedy: &str| Finding::new(subject, problem, remedy);
    match (confirmed, pending) {
        (0, 0) => vec![found(
            "nobody has subscribed: alerts go nowhere".to_owned(),
            "deploy with AlertEmail, or subscribe an address",
        )],
        (0, _) => vec![found(
            "no subscription is confirmed: alerts go nowhere".to_owned(),
            "open the mail of AWS and confirm",
        )],
        (_, 0) => Vec::new(),
        (_, pending) => {
            vec![found(format!("{pending} subscription(s) not confirmed"), "open the mail of AWS and confirm")]
        }
    }
}

/// Checks that the log groups of a stack exist and have a retention time. `kept` has the name of each group and its
/// retention in days, if it has one.
#[must_use]
pub fn logs(kept: &[(String, Option<i64>)]) -> Vec<Finding> {
    let subject = "log retention";
    if kept.is_empty() {
        return vec![Finding::new(subject, "the functions have no log groups", "deploy the stack again")];
    }
    let endless = kept.iter().filter(|(_, days)| days.is_none()).map(|(name, _)| name.as_str()).collect::<Vec<_>>();
    if endless.is_empty() {
        return Vec::new();
    }
    let problem = format!("kept for ever, and paid for: {}", endless.join(", "));
    vec![Finding::new(
        subject,
        problem,
        "deploy the stack again, or `aws logs put-retention-policy --retention-in-days 30`",
    )]
}

/// Checks that the account allows as many concurrent functions as the stack needs. `orders` and `mails` are the messages
/// that one consumer works on at the same time (`OrdersConcurrency`, `MailConcurrency`).
#[must_use]
pub fn concurrency(limit: u64, orders: u64, mails: u64) -> Vec<Finding> {
    let wanted = orders + MAIL_CONSUMERS * mails + OTHER_CONSUMERS + FOR_THE_SITE;
    if limit >= wanted {
        return Vec::new();
    }
    let problem = format!("{limit} functions may run at the same time, and the stack may want {wanted}");
    let remedy = "ask for more (`aws service-quotas request-service-quota-increase --service-code lambda --quota-code \
                  L-B99A9384 --desired-value 1000`); until then deploy with OrdersConcurrency=2";
    vec![Finding::new("Lambda concurrency", problem, remedy)]
}

/// SES's report about the account and the identity that mails are sent from.
#[derive(Clone, Copy, Debug)]
pub struct MailService {
    /// SES accepts mails of the account.
    pub is_sending: bool,
    /// The account is out of SES's sandbox, in which only verified addresses get mail.
    pub is_in_production: bool,
    /// The identity may send.
    pub is_verified: bool,
    /// The identity's mails are signed with DKIM; unsigned ones often end as spam.
    pub is_signed: bool,
}

/// Checks that SES sends mails to customers.
#[must_use]
pub fn mail_service(service: MailService) -> Vec<Finding> {
    let checks = [
        (service.is_sending, "sending is paused or shut off", "see the account dashboard of SES for the reason"),
        (
            service.is_in_production,
            "the account is in the sandbox: customers get no mail",
            "request production access (`aws sesv2 put-account-details`)",
        ),
        (
            service.is_verified,
            "the identity of SesIdentity is not verified: every mail is refused",
            "publish the DNS records that SES names (`aws sesv2 get-email-identity`)",
        ),
        (service.is_signed, "mails are not signed with DKIM", "publish the three DKIM records of the identity"),
    ];
    let wrong = checks.into_iter().filter(|(is_right, ..)| !is_right);
    wrong.map(|(_, problem, remedy)| Finding::new("Amazon SES", problem, remedy)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(findings: &[Finding]) -> &str {
        findings.first().map_or("", |finding| finding.problem.as_str())
    }

    #[test]
    fn a_topic_that_nobody_hears_is_found() {
        assert_eq!(topic("ops topic", 1, 0), []);
        assert!(problem(&topic("ops topic", 0, 0)).contains("nobody has subscribed"));
        assert!(problem(&topic("ops topic", 0, 1)).contains("no subscription is confirmed"));
        assert!(problem(&topic("ops topic", 1, 2)).starts_with("2 subscription(s)"));
    }

    #[test]
    fn logs_that_never_end_are_found() {
        let group = |days| ("/aws/lambda/oracle-verdict".to_owned(), days);
        assert_eq!(logs(&[group(Some(30))]), []);
        assert!(problem(&logs(&[group(Some(30)), group(None)])).contains("/aws/lambda/oracle-verdict"));
        assert!(problem(&logs(&[])).contains("no log groups"));
    }

    #[test]
    fn a_mail_service_that_sends_nothing_to_customers_is_found() {
        let right = MailService { is_sending: true, is_in_production: true, is_verified: true, is_signed: true };
        assert_eq!(mail_service(right), []);
        for (wrong, problem) in [
            (MailService { is_sending: false, ..right }, "shut off"),
            (MailService { is_in_production: false, ..right }, "sandbox"),
            (MailService { is_verified: false, ..right }, "not verified"),
            (MailService { is_signed: false, ..right }, "DKIM"),
        ] {
            let findings = mail_service(wrong);
            assert!(findings.len() == 1 && findings[0].problem.contains(problem), "{findings:?}");
        }
    }

    #[test]
    fn a_quota_that_the_queues_use_up_is_found() {
        assert_eq!(concurrency(1000, 20, 2), []);
        assert_eq!(concurrency(38, 20, 2), []);
        assert!(problem(&concurrency(37, 20, 2)).contains("may want 38"));
        assert!(problem(&concurrency(53, 20, 10)).contains("may want 54"));
        assert!(problem(&concurrency(10, 2, 2)).contains("10 functions"));
    }
}

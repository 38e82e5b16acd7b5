//! Checks the permissions of the mailbox's application: exactly those that it needs.

use crate::Finding;
use std::collections::BTreeSet;

pub(crate) const SUBJECT: &str = "mailbox permissions";

const NEEDED: [&str; 2] = ["Mail.ReadWrite", "Mail.Send"];

/// Permissions about the sign-in itself and about staying signed in: they give no access to data.
const HARMLESS: [&str; 4] = ["email", "offline_access", "openid", "profile"];

pub(crate) fn permissions(granted: &BTreeSet<String>) -> Vec<Finding> {
    let missing: Vec<&str> = NEEDED.into_iter().filter(|name| !granted.contains(*name)).collect();
    let known = |name: &str| NEEDED.contains(&name) || HARMLESS.contains(&name);
    let surplus: Vec<&str> = granted.iter().map(String::as_str).filter(|name| !known(name)).collect();
    let mut findings = Vec::new();
    if !missing.is_empty() {
        findings.push(Finding::new(
            SUBJECT,
            format!("not consented to: {}", missing.join(", ")),
            "add them to the application in Microsoft Entra, consent again, and `oracle secrets set graph-token`",
        ));
    }
    if !surplus.is_empty() {
        findings.push(Finding::new(
            SUBJECT,
            format!("consented to without need: {}", surplus.join(", ")),
            "remove them from the application in Microsoft Entra and revoke the consent to them",
        ));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(granted: &[&str]) -> Vec<String> {
        permissions(&granted.iter().map(|name| (*name).to_owned()).collect()).into_iter().map(|it| it.problem).collect()
    }

    #[test]
    fn neither_less_nor_more_than_is_needed() {
        assert!(problems(&["Mail.ReadWrite", "Mail.Send", "openid", "profile"]).is_empty());
        assert_eq!(problems(&["Mail.Send"]), ["not consented to: Mail.ReadWrite"]);
        assert_eq!(
            problems(&["Mail.ReadWrite", "Mail.Send", "Files.Read.All"]),
            ["consented to without need: Files.Read.All"]
        );
        assert_eq!(problems(&["Mail.Read"]).len(), 2);
    }
}

//! A configuration: ports, permissions, public resources, and the age of secrets.

use super::{Evidence, each};
use crate::assessment::{Reason, shown_name};
use serde::{Deserialize, Serialize};

/// A secret should be changed after this many days.
const STALE_SECRET_DAYS: u64 = 90;

/// A secret must be changed after this many days.
const EXPIRED_SECRET_DAYS: u64 = 365;

/// A configuration.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Configuration {
    /// Listening ports.
    pub ports: Option<Vec<Port>>,
    /// Granted permissions.
    pub permissions: Option<Vec<Permission>>,
    /// Publicly reachable resources.
    pub public: Option<Vec<Exposure>>,
    /// Secrets and their age.
    pub secrets: Option<Vec<SecretAge>>,
}

/// A listening port.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the fields are named for what they hold")]
pub struct Port {
    pub port: u16,
    pub address: String,
    #[serde(default)]
    pub process: String,
    #[serde(default)]
    pub whitelisted: bool,
}

/// A permission: a file's mode, or a role's action and resource.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the fields are named for what they hold")]
pub struct Permission {
    pub what: String,
    #[serde(default)]
    pub mode: Option<String>,
    #[serde(default)]
    pub action: Option<String>,
    #[serde(default)]
    pub resource: Option<String>,
}

/// A publicly reachable resource.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the fields are named for what they hold")]
pub struct Exposure {
    pub what: String,
    pub intended: bool,
}

/// A secret and the number of days since its last change.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the fields are named for what they hold")]
pub struct SecretAge {
    pub name: String,
    pub age_days: u64,
}

impl Evidence for Configuration {
    fn reasons(&self) -> Vec<Reason> {
        let mut reasons = each(
            self.ports.as_ref(),
            "the ports",
            |of| format!("{of} ports were looked at: in order."),
            |port| {
                let is_local = ["127.", "::1", "localhost"].iter().any(|local| port.address.starts_with(local));
                let process = if port.process.is_empty() { "unknown".to_owned() } else { shown_name(&port.process) };
                (!is_local && !port.whitelisted).then(|| {
                Reason::fault(format!(
                    "Port {} is listening on {}. Process: {process}. Not in the whitelist. Unauthorized external exposure.",
                    port.port,
                    shown_name(&port.address)
                ))
            })
            },
        );
        reasons.extend(each(
            self.permissions.as_ref(),
            "the permissions",
            |of| format!("{of} permissions were looked at: in order."),
            |permission| {
                let is_all = |of: &Option<String>| of.as_deref().is_some_and(|of| of == "*" || of.ends_with(":*"));
                let what = shown_name(&permission.what);
                match permission.mode.as_deref().map(everybody_may_write) {
                    Some(Some(true)) => return Some(Reason::fault(format!("Everybody may write {what}."))),
                    Some(None) => return Some(Reason::missing(format!("The mode of {what} cannot be read."), what)),
                    Some(Some(false)) | None => {}
                }
                if is_all(&permission.action) || permission.resource.as_deref() == Some("*") {
                    return Some(Reason::fault(format!("The permission of {what} names no action or no resource.")));
                }
                let is_whole =
                    permission.mode.is_some() || (permission.action.is_some() && permission.resource.is_some());
                let why = || format!("The permission of {what} has neither a mode nor an action with its resource.");
                (!is_whole).then(|| Reason::missing(why(), what.clone()))
            },
        ));
        reasons.extend(each(
            self.public.as_ref(),
            "what the public can reach",
            |of| format!("{of} public addresses were looked at: in order."),
            |exposure| {
                (!exposure.intended)
                    .then(|| Reason::fault(format!("The public can reach {}.", shown_name(&exposure.what))))
            },
        ));
        reasons.extend(each(
            self.secrets.as_ref(),
            "the secrets' age",
            |of| format!("{of} secrets were looked at: in order."),
            |secret| {
                let (name, days) = (shown_name(&secret.name), secret.age_days);
                if days > EXPIRED_SECRET_DAYS {
                    return Some(Reason::fault(format!("The secret {name} is {days} days old.")));
                }
                (days > STALE_SECRET_DAYS).then(|| Reason::caution(format!("The secret {name} is {days} days old.")))
            },
        ));
        reasons
    }
}

/// Whether a file's mode, octal or in the form of `ls -l`, grants write permission to all users; `None` for any other
/// text.
fn everybody_may_write(mode: &str) -> Option<bool> {
    let octal = mode.strip_prefix("0o").unwrap_or(mode);
    if (3..=6).contains(&octal.len())
        && let Ok(bits) = u32::from_str_radix(octal, 8)
    {
        return Some(bits & 0o002 != 0);
    }
    let letters = if mode.len() == 10 { mode.get(1..)? } else { mode };
    let is_listing = letters.len() == 9 && letters.bytes().all(|of| b"rwxstST-".contains(&of));
    is_listing.then(|| letters.as_bytes().get(7) == Some(&b'w'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{assessment::Verdict, evidence::verdict_of as verdict};

    #[test]
    fn a_configuration_is_judged_by_ports_permissions_exposure_and_secrets() {
        let whole = r#"{"ports":[{"port":8891,"address":"127.0.0.1"},{"port":443,"address":"0.0.0.0","whitelisted":true}],
            "permissions":[{"what":"key","mode":"600"}],"public":[{"what":"site","intended":true}],
            "secrets":[{"name":"stripe","age_days":90}]}"#;
        assert_eq!(verdict::<Configuration>(whole).0, Verdict::Green);
        for (was, is, expected) in [
            ("127.0.0.1", "0.0.0.0", Verdict::Red),
            ("\"600\"", "\"777\"", Verdict::Red),
            ("\"600\"", "\"0777\"", Verdict::Red),
            ("\"600\"", "\"-rwxrwxrwx\"", Verdict::Red),
            ("\"600\"", "\"-rw-r--r--\"", Verdict::Green),
            ("\"600\"", "\"o+w\"", Verdict::Null),
            (",\"mode\":\"600\"", "", Verdict::Null),
            ("\"mode\":\"600\"", "\"action\":\"s3:GetObject\"", Verdict::Null),
            ("\"mode\":\"600\"", "\"action\":\"s3:GetObject\",\"resource\":\"b/*\"", Verdict::Green),
            ("\"mode\":\"600\"", "\"action\":\"s3:*\"", Verdict::Red),
            ("\"600\"", "\"\"", Verdict::Null),
            ("true}],\n            \"secrets\"", "false}],\n            \"secrets\"", Verdict::Red),
            (":90", ":91", Verdict::Amber),
            (":90", ":366", Verdict::Red),
            ("\"permissions\":[{\"what\":\"key\",\"mode\":\"600\"}],", "", Verdict::Null),
        ] {
            assert!(whole.contains(was), "{was}");
            assert_eq!(verdict::<Configuration>(&whole.replace(was, is)).0, expected, "{is}");
        }
        let (_, text) = verdict::<Configuration>(&whole.replace("127.0.0.1", "0.0.0.0"));
        assert!(text.contains("Port 8891 is listening on 0.0.0.0. Process: unknown. Not in the whitelist."), "{text}");
    }
}

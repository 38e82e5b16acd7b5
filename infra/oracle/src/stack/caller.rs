//! The AWS identity of a command's caller, for the records of operators' decisions. The name in the same record is the
//! one that the operator typed.

use domain::CallerIdentity;
use std::{error::Error, future::Future, io::Write, sync::OnceLock};

pub(crate) type NoAnswer = Box<dyn Error + Send + Sync>;

pub(crate) trait Identifies {
    fn caller_arn(&self) -> impl Future<Output = Result<String, NoAnswer>>;
}

/// The caller's identity. It is requested once, at the command's first decision.
#[derive(Debug, Default)]
pub(crate) struct Caller(OnceLock<Option<CallerIdentity>>);

impl Caller {
    /// The identity that the account returns. Without an answer, the operator is recorded by name alone and a line in
    /// `warnings` says so, because an outage of STS must not stop operators.
    pub(crate) async fn identity(
        &self,
        account: &impl Identifies,
        warnings: &mut impl Write,
    ) -> Option<CallerIdentity> {
        if self.0.get().is_none() {
            let arn = account.caller_arn().await;
            let identity = arn.and_then(|arn| Ok(CallerIdentity::parse(arn)?));
            if let Err(error) = &identity {
                // A closed stderr must not prevent the record.
                let _ = writeln!(warnings, "your AWS identity is not in the record, only your name: {error}");
            }
            let _ = self.0.set(identity.ok());
        }
        self.0.get().cloned().flatten()
    }

    /// The account of the identity; `None` before it is requested, and without an answer.
    pub(crate) fn account(&self) -> Option<&str> {
        self.0.get()?.as_ref()?.as_str().split(':').nth(4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::wait;
    use std::cell::Cell;

    struct Account {
        arn: Option<&'static str>,
        asked: Cell<u32>,
    }

    impl Identifies for Account {
        async fn caller_arn(&self) -> Result<String, NoAnswer> {
            self.asked.set(self.asked.get() + 1);
            self.arn.map(str::to_owned).ok_or_else(|| "STS is down".into())
        }
    }

    /// The identities of two decisions of one command, the warnings, and the number of requests to the account.
    fn decide_twice(arn: Option<&'static str>) -> (Vec<Option<String>>, String, u32) {
        let (account, caller, mut warnings) = (Account { arn, asked: Cell::new(0) }, Caller::default(), Vec::new());
        let identities = wait(async {
            let mut identities = Vec::new();
            for _ in 0..2 {
                let identity = caller.identity(&account, &mut warnings).await;
                identities.push(identity.map(|identity| identity.as_str().to_owned()));
            }
            Ok(identities)
        });
        (identities.unwrap(), String::from_utf8(warnings).unwrap(), account.asked.get())
    }

    #[test]
    fn the_account_is_asked_once_for_all_decisions_of_a_command() {
        let arn = "arn:aws:iam::123456789012:user/dana";
        let known = vec![Some(arn.to_owned()), Some(arn.to_owned())];
        assert_eq!(decide_twice(Some(arn)), (known, String::new(), 1));
    }

    #[test]
    fn the_identity_names_its_account() {
        for (arn, of) in [(Some("arn:aws:iam::123456789012:user/dana"), Some("123456789012")), (None, None)] {
            let (account, caller) = (Account { arn, asked: Cell::new(0) }, Caller::default());
            assert_eq!(caller.account(), None);
            wait(async { Ok(caller.identity(&account, &mut Vec::<u8>::new()).await) }).unwrap();
            assert_eq!(caller.account(), of);
        }
    }

    #[test]
    fn without_an_answer_the_operator_is_recorded_by_name_and_warned_once() {
        for (arn, why) in [(None, "STS is down"), (Some("dana"), "no ARN")] {
            let (identities, warnings, asked) = decide_twice(arn);
            assert_eq!((identities, asked), (vec![None, None], 1));
            assert!(warnings.contains(why) && warnings.lines().count() == 1, "{warnings}");
        }
    }
}

//! The promises of the chat, by name.

/// A promise that the simulation of the chat checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Promise {
    /// An exchange id has one reply, regardless of who requests it and how often.
    OneReply,
    /// No person gets a fourth free exchange (Product Tiers, VC-9, FM-10).
    ThreeFree,
    /// A counted exchange was answered, and its reply is available.
    NotForNothing,
    /// A paid period gives access, and nothing else does.
    PaidAccess,
    /// No person reads the text of another.
    Own,
    /// Erased content is in no prompt, no reply and no store.
    Erased,
    /// A Bridge is granted only after an acceptance, and a message is accepted and a reply mailed only while it is granted.
    OnlyGranted,
    /// A thread has each accepted message once, and loses none.
    OneThread,
    /// A letter and the mail of a reply are sent once, as the recorded draft.
    OneLetter,
    /// No store contains a customer's words or address in plain text.
    Sealed,
    /// No reply and no beginning of one has a blocked term.
    Filtered,
    /// A disclosure of self-harm is answered with the sources of help, whichever store fails.
    Help,
    /// A link signs in once, and only in the browser that requested it.
    SignIn,
    /// Every reply has one record, every evaluation of the authority gate after which the model is asked has a record, and no
    /// record stays pending.
    Recorded,
    /// After the faults end, every call is answered.
    Recovers,
    /// The record of a subscription is Stripe's latest report of it, also after an older one is repeated.
    Latest,
    /// Operators are alerted about everything that waits for them: two subscriptions of a person, money that went back, an
    /// acceptance, a message on a Bridge, a letter that cannot be mailed. No world fails so long that an erasure has an alert.
    Alerted,
}

/// A broken promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The promise.
    pub promise: Promise,
    /// The observation that broke it.
    pub detail: String,
}

pub(super) type Checked = Result<(), Broken>;

impl Promise {
    /// Returns an error unless `holds`.
    pub(super) fn require(self, holds: bool, detail: impl FnOnce() -> String) -> Checked {
        if holds { Ok(()) } else { Err(Broken { promise: self, detail: detail() }) }
    }
}

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}: {}", self.promise, self.detail)
    }
}

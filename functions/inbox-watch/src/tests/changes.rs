//! The changes that runs make to the mailbox: only to our own drafts.

use super::*;

/// Records the changes to a mailbox, and the drafts that it has created and reported to us, which are the only things
/// that may change.
pub(super) struct Watched<'w> {
    world: &'w World,
    deadly: Option<&'static str>,
    made: Mutex<BTreeSet<String>>,
    changed: Mutex<Vec<(&'static str, String)>>,
}

impl<'w> Watched<'w> {
    fn new(world: &'w World) -> Self {
        Self { world, deadly: None, made: Mutex::default(), changed: Mutex::default() }
    }

    /// One with a message whose text kills the process that reads it.
    pub(super) fn deadly(world: &'w World, id: &'static str) -> Self {
        Self { deadly: Some(id), ..Self::new(world) }
    }

    fn changes(&self, how: &'static str, draft: &Draft) {
        self.changed.lock().unwrap().push((how, draft.id.clone()));
    }
}

#[async_trait]
impl Inbox for Watched<'_> {
    async fn arrived(&self, since: &ReceivedAt, order: Order, most: usize) -> Result<Arrivals, MailError> {
        self.world.arrived(since, order, most).await
    }
    async fn message(&self, id: &str) -> Result<Option<Incoming>, MailError> {
        self.world.message(id).await
    }
    async fn new_text(&self, id: &str) -> Result<Option<String>, MailError> {
        if self.deadly == Some(id) {
            std::future::pending::<()>().await;
        }
        self.world.new_text(id).await
    }
    async fn correspondence(&self, id: &str) -> Result<Option<Correspondence>, MailError> {
        self.world.correspondence(id).await
    }
    async fn sale_of(&self, message: &Incoming) -> Result<Option<SessionId>, MailError> {
        self.world.sale_of(message).await
    }
    async fn create_acknowledgement(&self, mail: &Acknowledgement) -> Result<Draft, MailError> {
        let made = self.world.create_acknowledgement(mail).await;
        self.made.lock().unwrap().extend(made.as_ref().ok().map(|draft| draft.id.clone()));
        made
    }
}

#[async_trait]
impl Mailbox for Watched<'_> {
    async fn create_draft(&self, _mail: &OutgoingMail) -> Result<Draft, MailError> {
        panic!("an acknowledgement is no mail of a sale")
    }
    async fn send_draft(&self, draft: &Draft) -> Result<(), MailError> {
        self.changes("send", draft);
        self.world.send_draft(draft).await
    }
    async fn draft_exists(&self, draft: &Draft) -> Result<bool, MailError> {
        self.world.draft_exists(draft).await
    }
    async fn was_sent(&self, draft: &Draft) -> Result<bool, MailError> {
        self.world.was_sent(draft).await
    }
    async fn discard_draft(&self, draft: &Draft) -> Result<(), MailError> {
        self.changes("discard", draft);
        self.world.discard_draft(draft).await
    }
    fn can_be_probed(&self) -> bool {
        self.world.can_be_probed()
    }
}

/// Inbox Watch, invariant 8, with any fault: only our own drafts are sent or removed, never a message of the inbox.
#[test]
fn nothing_but_our_own_drafts_is_ever_changed() {
    let mut hows = BTreeSet::new();
    for boundary in 0..40 {
        for (fault, refused) in FAULTS.into_iter().flat_map(|fault| [(fault, false), (fault, true)]) {
            let world = replied();
            let watched = Watched::new(&world);
            if refused {
                world.state().mailbox_says.extend([None, None, Some(MailError::Rejected)]);
            }
            world.plan(Plan::at(boundary, fault));
            for number in 0..4 {
                drop(look_with(&world, &format!("a{number}"), (&watched, &watched), &NoLimit, &keys("v1")));
                world.plan(Plan::none());
            }
            let made = watched.made.lock().unwrap();
            for (how, id) in watched.changed.lock().unwrap().iter() {
                assert!(made.contains(id), "{fault:?} at {boundary}: {how} {id}");
                hows.insert(*how);
            }
        }
    }
    assert_eq!(hows, BTreeSet::from(["discard", "send"]), "there must have been something to watch");
}

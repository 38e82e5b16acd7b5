//! Checks whether an event may follow. Refusals name the rule and never repeat a locked detail.

use super::{ConsentStatus, Refusal, State};
use crate::{
    event::{
        AssetPooled, EventId, FactCommitted, NotebookWriteApplied, Outcome, Payload, RecallAttempt, RecallResult,
        RevisionRecorded, Scope,
    },
    handle::Handle,
    precision,
    recipe::{Recipe, purpose_of},
};
use lens::{Digest, Domain};

impl State {
    /// Checks whether an event may follow.
    ///
    /// # Errors
    /// [`Refusal`]
    pub fn check(&self, payload: &Payload) -> Result<(), Refusal> {
        if self.is_erased() {
            return Err(Refusal::Erased);
        }
        match payload {
            Payload::RecallRequest(it) => {
                self.check_scene(&it.scene_id)?;
                match self.recalls.get(&it.detail_handle) {
                    Some(open) if open.outcome.is_some() => {
                        refuse_recall(&it.detail_handle, "a roll awaits its result")
                    }
                    _ => Ok(()),
                }
            }
            Payload::RecallAttempt(it) => self.check_attempt(it),
            Payload::RecallResult(it) => self.check_result(it),
            Payload::NotebookWriteConsentRequested(it) => {
                if it.content_handles.is_empty() {
                    return refuse_consent(&it.request_id, "nothing is to be written");
                }
                match self.notebook.contains_key(&it.request_id) {
                    true => refuse_consent(&it.request_id, "it was requested before"),
                    false => Ok(()),
                }
            }
            Payload::NotebookWriteConsentGranted(it) => self.check_consent(&it.request_id, ConsentStatus::Requested),
            Payload::NotebookWriteConsentDenied(it) => self.check_consent(&it.request_id, ConsentStatus::Requested),
            Payload::NotebookWriteApplied(it) => self.check_applied(it),
            Payload::RuleRefOpened(it) => {
                if !self.adds(EventId::RuleRefOpened) {
                    return Err(Refusal::NeedsRevision(EventId::RuleRefOpened.as_str()));
                }
                self.check_scene(&it.scene_id)?;
                match it.unlock_scope {
                    Scope::Campaign => Err(Refusal::RuleScope),
                    Scope::Session if self.story.session_id.is_none() => Err(Refusal::NoSession),
                    Scope::Session | Scope::Scene => Ok(()),
                }
            }
            Payload::RevisionRecorded(it) => self.check_revision(it),
            Payload::WorldCommitted(_) if self.story.world_id.is_some() => Err(Refusal::SecondWorld),
            Payload::PinsRevised(it) => {
                if self.story.world_id.is_none() {
                    return Err(Refusal::Pins("the world"));
                }
                if self.revisions.contains_key(&it.revision_id) { Ok(()) } else { Err(Refusal::Pins("the revision")) }
            }
            Payload::FactCommitted(it) => self.check_fact(it),
            Payload::FactWithdrawn(it) => self.check_canon(&it.fact_id),
            Payload::CompactionRequested(it) => {
                if purpose_of(it.compaction_policy_id.as_str()).is_none() {
                    return Err(Refusal::Compaction("unknown compaction policy"));
                }
                if it.input_handles.is_empty() {
                    return Err(Refusal::Compaction("it has no inputs"));
                }
                let recipe = Recipe::new(it.compaction_policy_id.clone(), it.input_handles.clone());
                if self.compactions.contains_key(&recipe.id()) {
                    return Err(Refusal::Compaction("it exists already"));
                }
                it.input_handles.iter().try_for_each(|fact| self.check_canon(fact))
            }
            Payload::CompactionDeleted(it) => match self.compactions.contains_key(&it.compaction_id) {
                true => Ok(()),
                false => Err(Refusal::Compaction("it does not exist")),
            },
            Payload::ImageRequested(it) => {
                let hash = Digest::of(Domain::RequestSpec, &it.request_spec.to_bytes());
                if hash == it.request_hash { Ok(()) } else { Err(Refusal::Image("request_hash is not its hash")) }
            }
            Payload::AssetPooled(it) => self.check_pooled(it),
            Payload::PoolBound(it) => match self.images.pool_of(it.pool_id.as_str()).is_empty() {
                true => Err(Refusal::Image("the pool is empty")),
                false => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// An unlock for a scene or a session begins while they are open: nothing ends what begins after them.
    fn check_scene(&self, scene: &Handle) -> Result<(), Refusal> {
        if self.story.scene_id.as_ref() == Some(scene) { Ok(()) } else { Err(Refusal::SceneNotOpen(scene.clone())) }
    }

    fn check_attempt(&self, it: &RecallAttempt) -> Result<(), Refusal> {
        let Some(open) = self.recalls.get(&it.detail_handle) else {
            return refuse_recall(&it.detail_handle, "EV-002 without EV-001");
        };
        if open.outcome.is_some() {
            return refuse_recall(&it.detail_handle, "it was rolled already");
        }
        if (it.outcome == Outcome::Success) != (it.roll >= it.dc) {
            return refuse_recall(&it.detail_handle, "the outcome is not that of the roll: success is roll >= dc");
        }
        Ok(())
    }

    fn check_result(&self, it: &RecallResult) -> Result<(), Refusal> {
        let Some(rolled) = self.recalls.get(&it.detail_handle).and_then(|open| open.outcome) else {
            return refuse_recall(&it.detail_handle, "EV-003 without EV-001 and EV-002");
        };
        if rolled != it.outcome {
            return refuse_recall(&it.detail_handle, "the result is not the attempt's outcome");
        }
        if it.outcome == Outcome::Fail && self.is_exact(&it.payload_handle, &it.detail_handle) {
            return refuse_recall(&it.detail_handle, "a failure gives the gist, never the exact detail");
        }
        Ok(())
    }

    /// Whether a payload handle names the exact detail. A fact is found by its id, too.
    fn is_exact(&self, payload: &Handle, detail: &Handle) -> bool {
        let fact = |handle: &str| self.facts.by_detail(handle).map(|(fact_id, _)| *fact_id);
        let is_detail = |named: &str| {
            named == detail.as_str() || fact(named).is_some_and(|found| fact(detail.as_str()) == Some(found))
        };
        is_detail(payload.as_str()) || payload.as_str().strip_suffix(crate::recall::EXACT).is_some_and(is_detail)
    }

    fn check_consent(&self, request: &Handle, expected: ConsentStatus) -> Result<(), Refusal> {
        match self.notebook.get(request) {
            None => refuse_consent(request, "it was never requested (EV-010)"),
            Some(consent) if consent.status != expected => refuse_consent(request, "it is not at this step"),
            Some(_) => Ok(()),
        }
    }

    fn check_applied(&self, it: &NotebookWriteApplied) -> Result<(), Refusal> {
        self.check_consent(&it.request_id, ConsentStatus::Granted)?;
        let asked = self.notebook.get(&it.request_id).map(|consent| &consent.content_handles);
        if it.content_handles.is_empty() || !asked.is_some_and(|asked| it.content_handles.is_subset(asked)) {
            return refuse_consent(&it.request_id, "what is written is not what consent was given for");
        }
        Ok(())
    }

    fn check_revision(&self, it: &RevisionRecorded) -> Result<(), Refusal> {
        if self.revisions.contains_key(&it.revision_id) {
            return Err(Refusal::Revision(it.revision_id.clone(), "it is recorded already"));
        }
        if it.reason.trim().is_empty() {
            return Err(Refusal::Revision(it.revision_id.clone(), "it gives no reason"));
        }
        if it.adds.iter().any(|id| id.as_str() != EventId::RuleRefOpened.as_str()) {
            return Err(Refusal::Revision(it.revision_id.clone(), "it adds an event other than EV-021"));
        }
        Ok(())
    }

    fn check_fact(&self, it: &FactCommitted) -> Result<(), Refusal> {
        let address = it.content_address()?;
        if it.fact_id.is_some_and(|given| given != address) {
            return Err(Refusal::Fact("fact_id is not the hash of its content"));
        }
        if self.facts.get(&address).is_some() {
            return Err(Refusal::Fact("it is in the ledger already"));
        }
        if it.detail_handle.as_ref().is_some_and(|handle| self.facts.by_detail(handle.as_str()).is_some()) {
            return Err(Refusal::Fact("another fact has its detail_handle"));
        }
        if !it.is_locked_by_default() {
            if it.gist.is_some() || it.detail_handle.is_some() || !it.precision_tokens.is_empty() {
                return Err(Refusal::Fact("gist, detail_handle and precision_tokens are for LOCKED facts"));
            }
            return Ok(());
        }
        precision::check_commit(it)
    }

    fn check_canon(&self, fact_id: &Digest) -> Result<(), Refusal> {
        match self.facts.get(fact_id) {
            Some(fact) if fact.withdrawn_by.is_none() => Ok(()),
            _ => Err(Refusal::NoFact(*fact_id)),
        }
    }

    fn check_pooled(&self, it: &AssetPooled) -> Result<(), Refusal> {
        if self.images.requested(&it.request_hash).is_none() {
            return Err(Refusal::Image("it was never requested"));
        }
        if it.weight < 1 {
            return Err(Refusal::Image("its weight is below 1"));
        }
        if self.images.pool_of(it.pool_id.as_str()).iter().any(|asset| asset.asset_id == it.asset_id) {
            return Err(Refusal::Image("it is in the pool already"));
        }
        Ok(())
    }
}

fn refuse_recall(handle: &Handle, problem: &'static str) -> Result<(), Refusal> {
    Err(Refusal::Recall { handle: handle.clone(), problem })
}

fn refuse_consent(request: &Handle, problem: &'static str) -> Result<(), Refusal> {
    Err(Refusal::Consent { request: request.clone(), problem })
}

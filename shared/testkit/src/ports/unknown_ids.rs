//! The counter of questions about ids that may be made up, in a [`World`].

use crate::world::{State, World};
use async_trait::async_trait;
use domain::{
    ports::{StorageError, UnknownIdCounter},
    unknown_ids::CountedQuestion,
};

fn counted<'s>(state: &'s mut State, question: &CountedQuestion) -> &'s mut u32 {
    state.unknown_ids.entry((question.window.clone(), question.group)).or_default()
}

#[async_trait]
impl UnknownIdCounter for World {
    async fn take(&self, question: &CountedQuestion) -> Result<bool, StorageError> {
        self.stored("unknown_ids.take", |state| {
            let total: u32 =
                state.unknown_ids.iter().filter(|((window, _), _)| *window == question.window).map(|(_, n)| n).sum();
            let of_group = counted(state, question);
            let is_left = total < question.limits.in_all && *of_group < question.limits.of_group;
            *of_group += if is_left { CountedQuestion::OPEN } else { 0 };
            is_left
        })
        .await
    }

    async fn settle(&self, question: &CountedQuestion, count: u32) -> Result<(), StorageError> {
        self.stored("unknown_ids.settle", |state| {
            let of_group = counted(state, question);
            *of_group = of_group.saturating_sub(CountedQuestion::OPEN) + count;
        })
        .await
    }
}

//! The counter of questions about ids that may be made up, in a [`World`].

use crate::world::{State, World};
use async_trait::async_trait;
use domain::{
    guesses::Guess,
    ports::{Guesses, StorageError},
};

fn counted<'s>(state: &'s mut State, guess: &Guess) -> &'s mut u32 {
    state.guesses.entry((guess.window.clone(), guess.group)).or_default()
}

#[async_trait]
impl Guesses for World {
    async fn take(&self, guess: &Guess) -> Result<bool, StorageError> {
        self.stored("guesses.take", |state| {
            let total: u32 =
                state.guesses.iter().filter(|((window, _), _)| *window == guess.window).map(|(_, n)| n).sum();
            let of_group = counted(state, guess);
            let is_left = total < guess.limits.in_all && *of_group < guess.limits.of_group;
            *of_group += if is_left { Guess::OPEN } else { 0 };
            is_left
        })
        .await
    }

    async fn settle(&self, guess: &Guess, count: u32) -> Result<(), StorageError> {
        self.stored("guesses.settle", |state| {
            let of_group = counted(state, guess);
            *of_group = of_group.saturating_sub(Guess::OPEN) + count;
        })
        .await
    }
}

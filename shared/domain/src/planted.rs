//! Deliberate defects, so that the simulation can show that it finds them. They exist in builds with the feature
//! `planted-bugs` only, which no release build and no function's binary can have; in every other build [`planted`]
//! is `false`, always.

#[cfg(all(feature = "planted-bugs", not(debug_assertions)))]
compile_error!("planted bugs are for tests: no release build can have them");

/// Whether this build can have a defect planted in it.
pub const POSSIBLE: bool = cfg!(feature = "planted-bugs");

/// Whether the named defect is planted in this run.
#[cfg(not(feature = "planted-bugs"))]
#[must_use]
pub const fn planted(_bug: &str) -> bool {
    false
}

#[cfg(feature = "planted-bugs")]
pub use chosen::{asked, plant, planted};

#[cfg(feature = "planted-bugs")]
mod chosen {
    use std::{
        cell::{Cell, RefCell},
        collections::BTreeSet,
    };

    thread_local! {
        static CHOSEN: Cell<Option<&'static str>> = const { Cell::new(None) };
        static ASKED: RefCell<BTreeSet<String>> = const { RefCell::new(BTreeSet::new()) };
    }

    /// Plants a defect in this thread, or removes the planted one.
    pub fn plant(bug: Option<&'static str>) {
        CHOSEN.set(bug);
    }

    /// Whether the named defect is planted in this thread.
    #[must_use]
    pub fn planted(bug: &str) -> bool {
        ASKED.with_borrow_mut(|asked| {
            if !asked.contains(bug) {
                asked.insert(bug.to_owned());
            }
        });
        CHOSEN.get() == Some(bug)
    }

    /// The names that were asked for in this thread so far: the places that were reached.
    #[must_use]
    pub fn asked() -> BTreeSet<String> {
        ASKED.with_borrow(Clone::clone)
    }
}

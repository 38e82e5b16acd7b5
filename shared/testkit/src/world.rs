//! Everything outside a function, in memory.

pub use crate::state::{Answer, Answering, Chain, Crossing, Delivered, State, Surroundings};

use crate::{
    BOUNDARIES,
    faults::{Fault, Passage, Plan, Trouble},
};
use domain::{Timestamp, suppression::Suppression};
use std::{
    future::Future,
    pin::Pin,
    sync::{Mutex, MutexGuard, PoisonError, TryLockError},
    task::{Context, Poll},
    time::Duration,
};

/// Everything outside a function.
#[derive(Default)]
pub struct World {
    state: Mutex<State>,
    plan: Mutex<Plan>,
    passed: Mutex<usize>,
    surroundings: Mutex<Option<Surroundings>>,
    wake: Mutex<Option<i64>>,
}

/// The result of a boundary.
enum Passed<T> {
    Answered(Result<T, Trouble>),
    Died,
}

/// A secret document of a world.
pub struct StoredSecret<'w> {
    pub(crate) world: &'w World,
    pub(crate) document: String,
}

/// One of several queues of a world.
pub struct NamedQueue<'w> {
    pub(crate) world: &'w World,
    pub(crate) name: &'static str,
}

impl World {
    /// A world at the given moment.
    #[must_use]
    pub fn at(now: Timestamp) -> Self {
        let world = Self::default();
        world.state().now = now.as_millis();
        world
    }

    /// Suppresses alerts that were sent within this window, as the real topics do.
    #[must_use]
    pub fn suppressing(self, window: Duration) -> Self {
        self.state().suppression = Some(Suppression::new(window));
        self
    }

    /// The contents.
    ///
    /// # Panics
    /// When the test holds the guard already: a world is used by one thread, so waiting would last for ever.
    pub fn state(&self) -> MutexGuard<'_, State> {
        match self.state.try_lock() {
            Ok(state) => state,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => panic!("the world's state is held by this test already"),
        }
    }

    /// Sets the faults from here on; boundaries count from 0 again.
    pub fn plan(&self, plan: Plan) {
        *lock(&self.plan) = plan;
        *lock(&self.passed) = 0;
    }

    /// The number of boundaries passed since the plan was set.
    #[must_use]
    pub fn passed(&self) -> usize {
        *lock(&self.passed)
    }

    /// Puts every effect into these surroundings from here on, in place of the plan: effects may take time, so that
    /// handlers overlap. The poller calls [`World::wake`] to learn when to poll again.
    pub fn surround(&self, surroundings: Surroundings) {
        *lock(&self.surroundings) = Some(surroundings);
    }

    /// The time at which the handler that was polled last has to be polled again, in milliseconds; `None` if its
    /// process crashed.
    pub fn wake(&self) -> Option<i64> {
        lock(&self.wake).take()
    }

    /// A separate queue with this name.
    #[must_use]
    pub const fn queue(&self, name: &'static str) -> NamedQueue<'_> {
        NamedQueue { world: self, name }
    }

    /// A secret document, which is read at every use.
    #[must_use]
    pub fn secret(&self, document: &str) -> StoredSecret<'_> {
        StoredSecret { world: self, document: document.to_owned() }
    }

    /// Lets time pass.
    pub fn advance(&self, duration: Duration) {
        self.state().now += millis(duration);
    }

    /// Waits: in surroundings until it is polled late enough, otherwise by advancing the time.
    pub(crate) async fn wait(&self, duration: Duration) {
        if lock(&self.surroundings).is_some() {
            self.sleep(duration).await;
        } else {
            self.advance(duration);
        }
    }

    fn sleep(&self, duration: Duration) -> Sleep<'_> {
        Sleep { world: self, until: self.state().now + millis(duration) }
    }

    /// Passes a boundary: `effect` happens, does not happen, happens with its reply lost, or the process crashes
    /// around it.
    pub(crate) async fn boundary<T: Send>(
        &self,
        name: &'static str,
        effect: impl FnOnce(&mut State) -> T + Send,
    ) -> Result<T, Trouble> {
        let passage = self.passage(name);
        self.sleep(passage.before).await;
        match self.pass(name, passage.fault, effect) {
            Passed::Answered(answer) => {
                self.sleep(passage.after).await;
                answer
            }
            Passed::Died => std::future::pending().await,
        }
    }

    fn passage(&self, name: &'static str) -> Passage {
        assert!(BOUNDARIES.contains(&name), "{name} is not among the boundaries");
        let number = {
            let mut passed = lock(&self.passed);
            *passed += 1;
            *passed - 1
        };
        let now = self.state().now;
        match lock(&self.surroundings).as_mut() {
            Some(surroundings) => surroundings(name, now),
            None => Passage { fault: lock(&self.plan).fault(number, name), ..Passage::default() },
        }
    }

    fn pass<T>(&self, name: &'static str, fault: Option<Fault>, effect: impl FnOnce(&mut State) -> T) -> Passed<T> {
        let mut state = self.state();
        state.crossings.push(Crossing { name, fault });
        if fault == Some(Fault::CrashBefore) {
            return Passed::Died;
        }
        state.boundaries.push(name);
        match fault {
            Some(Fault::Fail) => return Passed::Answered(Err(Trouble::Failed)),
            Some(Fault::Refuse(status)) => return Passed::Answered(Err(Trouble::Refused(status))),
            _ => {}
        }
        let answer = effect(&mut state);
        match fault {
            Some(Fault::LoseReply) => Passed::Answered(Err(Trouble::Failed)),
            Some(Fault::CrashAfter) => Passed::Died,
            _ => Passed::Answered(Ok(answer)),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// Ready once the world's time has come. It does not wake its task: a poller calls [`World::wake`].
struct Sleep<'w> {
    world: &'w World,
    until: i64,
}

impl Future for Sleep<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<()> {
        if self.world.state().now >= self.until {
            return Poll::Ready(());
        }
        *lock(&self.world.wake) = Some(self.until);
        Poll::Pending
    }
}

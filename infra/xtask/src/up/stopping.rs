//! `down`: stops a stack so that nothing is left, on request or on a signal.

use crate::{
    error::Error,
    local_dir::LocalDir,
    processes::{self, Recorded, Running, Supervisor, wait_until},
};
use serde_json::json;
use std::{
    io::{self, Write},
    process::ExitCode,
    sync::mpsc,
    thread,
    time::Duration,
};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Stops the stack of this directory, and reports it.
pub(crate) fn down(dir: &LocalDir, as_json: bool) -> Result<ExitCode, Error> {
    let stopped = stop(dir)?;
    if as_json {
        println!("{}", json!({ "stopped": stopped }));
    } else {
        println!("{}", if stopped { "stopped" } else { "nothing was running" });
    }
    Ok(ExitCode::SUCCESS)
}

/// Stops the stack of this directory; returns false if nothing was running.
pub(crate) fn stop(dir: &LocalDir) -> Result<bool, Error> {
    let running = dir.read::<Running>("processes.json")?;
    match &running {
        Some(running) => {
            running.supervisor.terminate();
            wait_until(Duration::from_secs(30), || !running.supervisor.is_alive());
            clear(dir, running);
            dir.empty_tmp()?;
            Ok(true)
        }
        None => {
            let leftovers = processes::leftovers(dir);
            for process in &leftovers {
                process.terminate();
            }
            Ok(!leftovers.is_empty())
        }
    }
}

/// Removes the remains of a stack: first its processes, then the files that mark it as running.
pub(super) fn clear(dir: &LocalDir, running: &Running) {
    for process in running.children.iter().chain([&running.supervisor]) {
        process.stop_group();
    }
    let leftovers = processes::leftovers(dir);
    leftovers.iter().for_each(Recorded::terminate);
    wait_until(Duration::from_secs(5), || leftovers.iter().all(|process| !process.is_alive()));
    forget(dir);
}

/// Removes the files that mark a stack as running.
pub(super) fn forget(dir: &LocalDir) {
    for name in ["stack.json", "deployment.json", "processes.json"] {
        dir.remove(name);
    }
}

/// Ctrl-C is the usual way to end a foreground stack, so the exit code is success.
pub(super) fn forget_on_signal(supervisor: &Supervisor, dir: &LocalDir) -> Result<(), Error> {
    let dir = dir.clone();
    stop_on_signal(supervisor, move || {
        forget(&dir);
        0
    })
}

/// The signals that stop a command.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    /// Sent when the terminal is closed; `None` if the command is to survive that.
    hangup: Option<Signal>,
}

impl Signals {
    fn watch(survives_terminal: bool) -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: if survives_terminal { None } else { Some(signal(SignalKind::hangup())?) },
        })
    }

    /// Returns when one of the signals has come.
    async fn received(&mut self) {
        let Self { interrupt, terminate, hangup } = self;
        let hung_up = async {
            match hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! { _ = interrupt.recv() => {}, _ = terminate.recv() => {}, _ = hung_up => {} }
    }
}

/// Whether this process was started with SIGHUP ignored, as `nohup` does. False without `/proc`, as on macOS.
fn is_hangup_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    // SIGHUP is signal 1, the lowest bit.
    ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}

/// Installs a handler: SIGINT, SIGTERM and SIGHUP stop everything that was started, call `last`, and end this process
/// with the exit code that `last` returns. Under `nohup` SIGHUP does nothing, on Linux.
pub(crate) fn stop_on_signal(
    supervisor: &Supervisor,
    last: impl FnOnce() -> i32 + Send + 'static,
) -> Result<(), Error> {
    let supervisor = supervisor.clone();
    let (ready, is_ready) = mpsc::channel();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let outcome = runtime.and_then(|runtime| {
            runtime.block_on(async {
                let mut signals = Signals::watch(is_hangup_ignored())?;
                let _ = ready.send(Ok(()));
                signals.received().await;
                Ok(())
            })
        });
        match outcome {
            Ok(()) => {
                // A closed terminal takes no text.
                let _ = writeln!(io::stderr(), "\nstopping");
                supervisor.stop_all();
                std::process::exit(last());
            }
            Err(error) => {
                let _ = ready.send(Err(error));
            }
        }
    });
    is_ready
        .recv()
        .unwrap_or_else(|_| Err(io::Error::other("the signal thread ended")))
        .map_err(Error::io("watching for Ctrl-C"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_closed_terminal_stops_what_it_started() -> Result<(), Box<dyn std::error::Error>> {
        let mut signals = Signals::watch(false)?;
        nix::sys::signal::raise(nix::sys::signal::Signal::SIGHUP)?;
        tokio::time::timeout(Duration::from_secs(10), signals.received()).await?;
        Ok(())
    }
}

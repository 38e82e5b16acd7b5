//! `down`: stops a stack so that nothing is left, on request or on a signal.

use crate::{
    error::Error,
    local_dir::LocalDir,
    processes::{self, Recorded, Running, Supervisor, wait_until},
};
use std::{process::ExitCode, sync::mpsc, thread, time::Duration};
use tokio::signal::unix::{SignalKind, signal};

/// Stops the stack of this directory, and reports it.
pub(crate) fn down(dir: &LocalDir) -> Result<ExitCode, Error> {
    eprintln!("{}", if stop(dir)? { "stopped" } else { "nothing was running" });
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

/// Installs a handler: SIGINT and SIGTERM stop everything that was started, call `last`, and end this process with the
/// exit code that `last` returns.
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
                let mut interrupt = signal(SignalKind::interrupt())?;
                let mut terminate = signal(SignalKind::terminate())?;
                let _ = ready.send(Ok(()));
                tokio::select! { _ = interrupt.recv() => {}, _ = terminate.recv() => {} }
                Ok(())
            })
        });
        match outcome {
            Ok(()) => {
                eprintln!("\nstopping");
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
        .unwrap_or_else(|_| Err(std::io::Error::other("the signal thread ended")))
        .map_err(Error::io("watching for Ctrl-C"))
}

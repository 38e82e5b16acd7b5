//! Child processes: each starts in its own process group, is recorded, and is stopped by its id.
//!
//! A process is identified by its id and its start time together, so that another process that later got the same id is
//! never signalled.

use crate::{
    error::Error,
    local_dir::{LocalDir, StackFile},
};
use nix::{
    errno::Errno,
    sys::signal::{Signal, killpg},
    unistd::Pid,
};
use serde::{Deserialize, Serialize};
use std::{
    fs::File,
    os::unix::process::CommandExt,
    path::PathBuf,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

/// How long a process has to end after SIGTERM before it is killed.
const GRACE: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(20);

/// A process, recorded so that a later command can find it.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Recorded {
    /// The name, for messages.
    pub(crate) name: String,
    /// The process id; for children also the id of their process group.
    pub(crate) pid: i32,
    /// The start time in the operating system's notation.
    started: String,
}

/// processes.json: the running processes of a stack.
#[derive(Serialize, Deserialize)]
pub(crate) struct Running {
    /// The `up` that supervises the others.
    pub(crate) supervisor: Recorded,
    /// The processes that the supervisor started.
    pub(crate) children: Vec<Recorded>,
}

impl Recorded {
    /// Records a running process.
    fn new(name: &str, pid: i32) -> Self {
        Self { name: name.to_owned(), pid, started: start_time(pid).unwrap_or_default() }
    }

    /// Whether the recorded process still runs (and not another process with the same id).
    pub(crate) fn is_alive(&self) -> bool {
        start_time(self.pid).is_some_and(|started| started == self.started)
    }

    /// Sends SIGTERM to this process only.
    pub(crate) fn terminate(&self) {
        if self.is_alive() {
            // It may have ended already.
            let _ = nix::sys::signal::kill(Pid::from_raw(self.pid), Signal::SIGTERM);
        }
    }

    /// Stops the process group that this process leads.
    pub(crate) fn stop_group(&self) {
        if !self.is_alive() {
            return;
        }
        let group = Pid::from_raw(self.pid);
        let _ = killpg(group, Signal::SIGTERM);
        if !wait_until(GRACE, || !self.is_alive()) {
            let _ = killpg(group, Signal::SIGKILL);
        }
        // Members may outlive their leader; the system does not reuse the group's id while one of them runs.
        if killpg(group, None) != Err(Errno::ESRCH) {
            let _ = killpg(group, Signal::SIGKILL);
        }
        // A process that leads no group is killed by itself, unless it ended on SIGTERM.
        if !wait_until(GRACE, || !self.is_alive()) {
            let _ = nix::sys::signal::kill(group, Signal::SIGKILL);
        }
    }
}

impl LocalDir {
    /// The running stack's description. A stack whose supervisor was killed has left its files, and does not run.
    pub(crate) fn stack(&self) -> Result<StackFile, Error> {
        let running = self.read::<Running>("processes.json")?.filter(|running| running.supervisor.is_alive());
        let stack = running.map(|_| self.read("stack.json")).transpose()?.flatten();
        stack.ok_or_else(|| Error::NotRunning(self.path().to_owned()))
    }
}

/// The start time of a process in some notation; `None` if there is no such process or it is a zombie.
fn start_time(pid: i32) -> Option<String> {
    if let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) {
        // The command name in parentheses may contain anything, so the fields are counted from its end: the first is
        // the state, the twentieth is the start time (in clock ticks since boot).
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        return (!matches!(*fields.first()?, "Z" | "X"))
            .then(|| format!("{} {}", boot.trim(), fields.get(19).unwrap_or(&"")));
    }
    if cfg!(target_os = "linux") {
        return None;
    }
    let output = Command::new("ps").args(["-o", "lstart=", "-p", &pid.to_string()]).output().ok()?;
    let started = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    (!started.is_empty()).then_some(started)
}

/// Waits until the condition is true; returns false if the time limit ends first.
pub(crate) fn wait_until(limit: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + limit;
    loop {
        if condition() {
            return true;
        }
        if Instant::now() >= end {
            return false;
        }
        thread::sleep(POLL);
    }
}

/// Starts processes, and stops all of them.
#[derive(Clone)]
pub(crate) struct Supervisor {
    dir: LocalDir,
    started: Arc<Mutex<Started>>,
}

#[derive(Default)]
struct Started {
    children: Vec<(Recorded, Child)>,
    /// True after everything was stopped: nothing may start any more.
    stopped: bool,
}

impl Supervisor {
    /// A supervisor for the processes of one stack; it has started nothing yet.
    pub(crate) fn new(dir: &LocalDir) -> Self {
        Self { dir: dir.clone(), started: Arc::default() }
    }

    fn started(&self) -> MutexGuard<'_, Started> {
        self.started.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a service in its own process group; its output goes to its log.
    pub(crate) fn start(&self, name: &'static str, command: &mut Command) -> Result<(), Error> {
        let log_path = self.dir.log(name);
        let log = File::create(&log_path).map_err(Error::io(format!("creating {}", log_path.display())))?;
        let errors = log.try_clone().map_err(Error::io("sharing a log"))?;
        command.stdin(Stdio::null()).stdout(log).stderr(errors);
        self.launch(name, command).map(|_| ())
    }

    /// Runs a program to its end; its output goes where the command says. `stop_all` stops it as well.
    pub(crate) fn run(&self, name: &'static str, command: &mut Command) -> Result<ExitStatus, Error> {
        let pid = self.launch(name, command)?;
        loop {
            {
                let mut started = self.started();
                let Some(index) = started.children.iter().position(|(recorded, _)| recorded.pid == pid) else {
                    return Err(Error::Refused(format!("{name} was interrupted")));
                };
                if let Some(status) =
                    started.children[index].1.try_wait().map_err(Error::io(format!("waiting for {name}")))?
                {
                    started.children.remove(index);
                    return Ok(status);
                }
            }
            thread::sleep(POLL);
        }
    }

    /// As [`Self::run`]; a program that fails is an error.
    pub(crate) fn check(&self, name: &'static str, command: &mut Command) -> Result<(), Error> {
        crate::error::require_success(name, self.run(name, command)?, None)
    }

    fn launch(&self, name: &'static str, command: &mut Command) -> Result<i32, Error> {
        let mut started = self.started();
        if started.stopped {
            return Err(Error::Refused(format!("{name} was not started: everything is being stopped")));
        }
        let child = command.process_group(0).spawn().map_err(Error::io(format!("starting {name}")))?;
        let pid = i32::try_from(child.id()).map_err(|_| Error::Refused("a process id out of range".to_owned()))?;
        started.children.push((Recorded::new(name, pid), child));
        Ok(pid)
    }

    /// The name and exit status of a service that has ended by itself.
    pub(crate) fn ended(&self) -> Option<(String, String)> {
        self.started().children.iter_mut().find_map(|(recorded, child)| {
            child.try_wait().ok().flatten().map(|status| (recorded.name.clone(), status.to_string()))
        })
    }

    /// Records this process and its children for later commands.
    pub(crate) fn record(&self) -> Result<(), Error> {
        let own_pid =
            i32::try_from(std::process::id()).map_err(|_| Error::Refused("a process id out of range".to_owned()))?;
        let running = Running {
            supervisor: Recorded::new("up", own_pid),
            children: self.started().children.iter().map(|(recorded, _)| recorded.clone()).collect(),
        };
        self.dir.write("processes.json", &running)
    }

    /// Stops one service. Others may start afterwards.
    pub(crate) fn stop(&self, name: &str) {
        let mut started = self.started();
        for (recorded, mut child) in started.children.extract_if(.., |(recorded, _)| recorded.name == name) {
            recorded.stop_group();
            let _ = child.wait();
        }
    }

    /// Stops everything that was started, the last first, and prevents further starts.
    pub(crate) fn stop_all(&self) {
        let mut started = self.started();
        started.stopped = true;
        while let Some((recorded, mut child)) = started.children.pop() {
            recorded.stop_group();
            let _ = child.wait();
        }
    }
}

/// Processes that have a stack's mark in their environment but no supervisor any more.
pub(crate) fn leftovers(dir: &LocalDir) -> Vec<Recorded> {
    let mark = format!("{}={}", MARK, dir.path().display());
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
        .filter(|pid| {
            let environment = std::fs::read(PathBuf::from(format!("/proc/{pid}/environ"))).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
        })
        .map(|pid| Recorded::new("leftover", pid))
        .filter(Recorded::is_alive)
        .collect()
}

/// The environment variable that marks every process of a stack with the stack's directory.
pub(crate) const MARK: &str = "ORACLE_LOCAL_STACK";

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory for one test, under the system's temporary directory.
    fn directory(name: &str) -> Result<LocalDir, Error> {
        LocalDir::new(Some(std::env::temp_dir().join(format!("xtask-{name}-{}", std::process::id()))))
    }

    #[test]
    fn stopping_ends_children_and_their_children() -> Result<(), Error> {
        let dir = directory("groups")?;
        let supervisor = Supervisor::new(&dir);
        let script = "sleep 1000 & echo $!; exec sleep 1000";
        supervisor.start("parent", Command::new("sh").args(["-c", script]).env(MARK, dir.path()))?;
        let grandchild = || std::fs::read_to_string(dir.log("parent")).ok()?.trim().parse::<i32>().ok();
        assert!(wait_until(GRACE, || grandchild().is_some()));
        let grandchild = Recorded::new("grandchild", grandchild().unwrap_or_default());
        assert!(grandchild.is_alive());
        // A process that is about to run another program has no environment for a moment.
        let expected = if cfg!(target_os = "linux") { 2 } else { 0 };
        assert!(wait_until(GRACE, || leftovers(&dir).len() == expected));

        supervisor.stop_all();
        assert!(wait_until(GRACE, || !grandchild.is_alive()));
        assert!(leftovers(&dir).is_empty());
        let refused = supervisor.start("late", &mut Command::new("true"));
        assert!(refused.is_err(), "nothing starts after everything was stopped");
        std::fs::remove_dir_all(dir.path()).map_err(Error::io("tidying up"))
    }

    #[test]
    fn stopping_one_service_leaves_the_others() -> Result<(), Error> {
        let dir = directory("one")?;
        let supervisor = Supervisor::new(&dir);
        for name in ["first", "second"] {
            supervisor.start(name, Command::new("sleep").arg("1000").env(MARK, dir.path()))?;
        }
        supervisor.stop("first");
        let names = || supervisor.started().children.iter().map(|(it, _)| it.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(), ["second"]);
        let expected = if cfg!(target_os = "linux") { 1 } else { 0 };
        // A process that was just started has no environment for a moment.
        assert!(wait_until(GRACE, || leftovers(&dir).len() == expected));
        assert!(supervisor.run("third", &mut Command::new("true"))?.success(), "others may start afterwards");
        supervisor.stop_all();
        std::fs::remove_dir_all(dir.path()).map_err(Error::io("tidying up"))
    }

    #[test]
    fn a_stack_runs_only_while_its_supervisor_does() -> Result<(), Error> {
        let dir = directory("supervised")?;
        let stack = serde_json::json!({
            "site": "http://127.0.0.1:8080", "sandbox": "http://127.0.0.1:8090",
            "aws_endpoint": "http://127.0.0.1:4566", "stack": "oracle-local", "region": "us-east-1",
            "stripe_webhook_secret": "whsec_x", "real_vendors": [], "outputs": {},
        });
        dir.write("stack.json", &stack)?;
        assert!(matches!(dir.stack(), Err(Error::NotRunning(_))));
        Supervisor::new(&dir).record()?;
        assert_eq!(dir.stack()?.site, "http://127.0.0.1:8080");
        let supervisor = Recorded { name: "up".to_owned(), pid: 1, started: "an earlier process".to_owned() };
        dir.write("processes.json", &Running { supervisor, children: Vec::new() })?;
        assert!(matches!(dir.stack(), Err(Error::NotRunning(_))));
        std::fs::remove_dir_all(dir.path()).map_err(Error::io("tidying up"))
    }

    #[test]
    fn an_id_that_belongs_to_somebody_else_now_is_left_alone() -> Result<(), Error> {
        let mut bystander = Command::new("sleep").arg("1000").process_group(0).spawn().map_err(Error::io("sleep"))?;
        let pid = i32::try_from(bystander.id()).unwrap_or_default();
        let stale = Recorded { started: "an earlier process".to_owned(), ..Recorded::new("stale", pid) };
        assert!(!stale.is_alive());
        stale.stop_group();
        stale.terminate();
        assert!(bystander.try_wait().map_err(Error::io("sleep"))?.is_none(), "the bystander still runs");
        bystander.kill().and_then(|()| bystander.wait()).map(drop).map_err(Error::io("sleep"))
    }

    #[test]
    fn an_ended_program_is_noticed_with_its_status() -> Result<(), Error> {
        let dir = directory("ended")?;
        let supervisor = Supervisor::new(&dir);
        let status = supervisor.run("quick", Command::new("sh").args(["-c", "exit 3"]))?;
        assert_eq!(status.code(), Some(3));
        let failure = supervisor.check("quick", Command::new("sh").args(["-c", "exit 3"])).err();
        assert_eq!(failure.map(|error| error.to_string()).as_deref(), Some("quick failed (exit status: 3)"));
        supervisor.start("service", Command::new("sh").args(["-c", "exit 4"]))?;
        let mut ended = None;
        assert!(wait_until(GRACE, || {
            ended = supervisor.ended();
            ended.is_some()
        }));
        assert_eq!(ended.map(|(name, _)| name), Some("service".to_owned()));
        std::fs::remove_dir_all(dir.path()).map_err(Error::io("tidying up"))
    }
}

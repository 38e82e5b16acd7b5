//! A chromedriver for one test, on a free port. It closes its browser when it ends.

use crate::stack::unique;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// The most starts of a driver that found its port taken.
const TRIES: u32 = 3;

/// A running chromedriver.
pub(crate) struct Driver {
    process: Child,
    port: u16,
    /// An empty directory for the browser's profile; it is removed with the driver.
    pub(crate) profile: PathBuf,
}

impl Driver {
    /// Starts the driver that the environment names, or else the chromedriver on the path, and reads the port that it
    /// chose.
    pub(crate) fn start() -> Self {
        let driver = std::env::var_os("ORACLE_BROWSER_DRIVER").unwrap_or_else(|| "chromedriver".into());
        // It takes a free port of IPv4 and the same port of IPv6. Where another process has the second, it ends.
        (0..TRIES).find_map(|_| Self::try_start(&driver)).expect("chromedriver says on which port it listens")
    }

    fn try_start(driver: &OsStr) -> Option<Self> {
        let mut command = Command::new(driver);
        // The browser shows times in this zone, wherever the machine is.
        command.arg("--port=0").env("TZ", "UTC").stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().unwrap_or_else(|error| {
            panic!("chromedriver cannot be started ({error}); Debian has it as chromium-driver")
        });
        let output = process.stdout.take().expect("its output is piped");
        let mut lines = BufReader::new(output).lines().map_while(Result::ok);
        let port = lines.find_map(|line| {
            line.split_once("started successfully on port ")?.1.trim_end_matches('.').trim().parse().ok()
        });
        // The rest of the output is read and dropped; otherwise the pipe would fill up and block the driver.
        std::thread::spawn(move || lines.for_each(drop));
        let Some(port) = port else {
            process.kill().ok();
            process.wait().ok();
            return None;
        };
        Some(Self { process, port, profile: std::env::temp_dir().join(format!("oracle-browser-{}", unique())) })
    }

    /// The driver's address.
    pub(crate) fn address(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Asks the driver to close its browsers and to end.
    fn shut_down(&self) -> std::io::Result<()> {
        let mut connection = TcpStream::connect(("127.0.0.1", self.port))?;
        write!(connection, "GET /shutdown HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")?;
        connection.read_to_end(&mut Vec::new()).map(drop)
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        if self.shut_down().is_err() {
            self.process.kill().ok();
        }
        self.process.wait().ok();
        std::fs::remove_dir_all(&self.profile).ok();
    }
}

//! A headless Chromium, driven through its debugging pipe: JSON messages that end in a zero byte, on file descriptors 3
//! (to the browser) and 4 (from it). No network port, no driver program, nothing to download.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use tempfile::TempDir;

/// No answer takes longer on a working machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A browser with one page.
pub(crate) struct Browser {
    child: Child,
    to: File,
    from: Receiver<Value>,
    /// Events that nobody has asked for yet.
    events: VecDeque<Value>,
    session: Option<String>,
    next: u64,
    folder: TempDir,
}

impl Browser {
    /// Starts the browser at this path.
    pub(crate) fn start(program: &Path) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let (to, from) = (folder.path().join("to"), folder.path().join("from"));
        let made = Command::new("mkfifo").args([&to, &from]).status().context("mkfifo")?;
        if !made.success() {
            bail!("mkfifo failed");
        }
        // The shell opens the descriptors; standard error goes away, as the browser complains there about missing buses.
        let child = Command::new("sh")
            .args(["-c", "to=$1; from=$2; shift 2; exec \"$@\" 3<\"$to\" 4>\"$from\" 2>/dev/null", "sh"])
            .args([&to, &from])
            .arg(program)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--no-first-run",
                "--disable-background-networking",
            ])
            .args([
                "--disable-component-update",
                "--disable-sync",
                "--disable-dev-shm-usage",
                "--remote-debugging-pipe",
            ])
            .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
            .arg("about:blank")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        // Read and write, so that opening does not wait for a browser that never starts.
        let to = OpenOptions::new().read(true).write(true).open(&to)?;
        let output = OpenOptions::new().read(true).write(true).open(&from)?;
        let (sender, from) = channel();
        thread::spawn(move || {
            for message in BufReader::new(output).split(0) {
                let Ok(message) = message else { break };
                let Ok(message) = serde_json::from_slice(&message) else { break };
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        let mut browser = Self { child, to, from, events: VecDeque::new(), session: None, next: 0, folder };
        let target = browser.call("Target.createTarget", &json!({ "url": "about:blank" }))?;
        let attached = browser
            .call("Target.attachToTarget", &json!({ "targetId": target["targetId"], "flatten": true }))?;
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page.enable", "Runtime.enable", "Log.enable", "Network.enable"] {
            browser.call(domain, &json!({}))?;
        }
        Ok(browser)
    }

    /// Calls a method and returns its result.
    pub(crate) fn call(&mut self, method: &str, params: &Value) -> Result<Value> {
        self.next += 1;
        let id = self.next;
        let mut message = json!({ "id": id, "method": method, "params": params });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let mut bytes = serde_json::to_vec(&message)?;
        bytes.push(0);
        self.to.write_all(&bytes)?;
        let end = Instant::now() + PATIENCE;
        loop {
            let message = self.receive(end).with_context(|| format!("no answer to {method}"))?;
            if message["id"] == json!(id) {
                if let Some(error) = message.get("error") {
                    bail!("{method}: {error}");
                }
                return Ok(message["result"].clone());
            }
            self.events.push_back(message);
        }
    }

    fn receive(&mut self, end: Instant) -> Result<Value> {
        loop {
            let left = end.saturating_duration_since(Instant::now()).min(Duration::from_millis(200));
            match self.from.recv_timeout(left) {
                Ok(message) => return Ok(message),
                Err(RecvTimeoutError::Disconnected) => bail!("the browser has ended"),
                Err(RecvTimeoutError::Timeout) => {
                    if let Some(status) = self.child.try_wait()? {
                        bail!("the browser has ended: {status}");
                    }
                    if Instant::now() >= end {
                        bail!("nothing for {} seconds", PATIENCE.as_secs());
                    }
                }
            }
        }
    }

    /// Opens a page and waits until it has loaded.
    pub(crate) fn open(&mut self, url: &str) -> Result<()> {
        self.events.retain(|event| event["method"] != "Page.loadEventFired");
        let answer = self.call("Page.navigate", &json!({ "url": url }))?;
        if let Some(error) = answer.get("errorText") {
            bail!("{url}: {error}");
        }
        let end = Instant::now() + PATIENCE;
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let event = self.receive(end).context("the page does not load")?;
            self.events.push_back(event);
        }
        Ok(())
    }

    /// The value of a JavaScript expression in the page.
    pub(crate) fn value(&mut self, expression: &str) -> Result<Value> {
        let params = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true, "userGesture": true });
        let answer = self.call("Runtime.evaluate", &params)?;
        if let Some(exception) = answer.get("exceptionDetails") {
            bail!("{expression}: {exception}");
        }
        Ok(answer["result"]["value"].clone())
    }

    /// The events of these methods so far, in order.
    pub(crate) fn events(&self, methods: &[&str]) -> Vec<&Value> {
        self.events.iter().filter(|event| methods.iter().any(|method| event["method"] == **method)).collect()
    }

    /// A folder for downloads, gone with the browser.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The page as large as it is, as the base64 text of a PNG.
    pub(crate) fn picture(&mut self) -> Result<String> {
        let answer =
            self.call("Page.captureScreenshot", &json!({ "format": "png", "captureBeyondViewport": true }))?;
        answer["data"].as_str().map(str::to_owned).context("no picture")
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Ends its helper processes too, which killing the first would leave behind; killing is for one that does not listen.
        self.session = None;
        let _ = self.call("Browser.close", &json!({}));
        let end = Instant::now() + Duration::from_secs(5);
        while Instant::now() < end {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

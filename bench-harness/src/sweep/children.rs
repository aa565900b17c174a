//! Running a measuring process under watch: its reports as they come, a deadline, and an end whenever the sweep ends.

use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use crate::store::cell::Status;

/// How often the watcher looks whether it was interrupted.
const TICK: Duration = Duration::from_millis(50);

/// Bytes of the error output that are kept: its end says why a process died.
const KEPT_ERRORS: usize = 4096;

/// How a process ended.
#[derive(Debug)]
pub enum Ending {
    /// By itself; its success is in the status.
    Exited {
        /// The exit status.
        status: ExitStatus,
        /// The end of its error output.
        errors: String,
    },
    /// It reported nothing for as long as the deadline, and was killed.
    Deadline,
    /// The sweep was interrupted, and it was killed.
    Interrupted,
}

/// Kills and reaps a process when it goes out of scope.
struct Guard(Child);

impl Drop for Guard {
    fn drop(&mut self) {
        // Both fail only where it has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts `command` with `input`, and hands each line of its output to `on_line`. It may take as long as `deadline` for each
/// line and for its end.
///
/// # Errors
/// If it cannot be started or watched.
pub fn watch(
    mut command: Command,
    input: &[u8],
    deadline: Duration,
    interrupted: &AtomicBool,
    mut on_line: impl FnMut(&str) -> Result<()>,
) -> Result<Ending> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // A Ctrl-C in the terminal is for the sweep, which then ends its children in order.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child =
        Guard(command.spawn().with_context(|| format!("cannot start {}", command.get_program().display()))?);
    let (stdin, stdout, stderr) = (child.0.stdin.take(), child.0.stdout.take(), child.0.stderr.take());
    let (mut stdin, stdout, stderr) =
        stdin.zip(stdout).zip(stderr).map(|((a, b), c)| (a, b, c)).context("the process has no pipes")?;
    // A process that dies before it has read its input is judged by how it dies.
    let _ = stdin.write_all(input);
    drop(stdin);

    let (sender, lines) = channel();
    thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    let errors = thread::spawn(move || tail(stderr));

    let mut last_sign = Instant::now();
    loop {
        if interrupted.load(Ordering::Relaxed) {
            return Ok(Ending::Interrupted);
        }
        match lines.recv_timeout(TICK.min(deadline)) {
            Ok(line) => {
                last_sign = Instant::now();
                on_line(&line)?;
            }
            Err(RecvTimeoutError::Timeout) if last_sign.elapsed() > deadline => return Ok(Ending::Deadline),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    // Its output is closed: it is about to end.
    let status = loop {
        if let Some(status) = child.0.try_wait()? {
            break status;
        }
        if interrupted.load(Ordering::Relaxed) {
            return Ok(Ending::Interrupted);
        }
        if last_sign.elapsed() > deadline {
            return Ok(Ending::Deadline);
        }
        thread::sleep(Duration::from_millis(1));
    };
    Ok(Ending::Exited { status, errors: errors.join().unwrap_or_default() })
}

fn tail(mut from: impl Read) -> String {
    let mut kept = Vec::new();
    let mut buffer = [0; KEPT_ERRORS];
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        kept.extend_from_slice(&buffer[..read]);
        let surplus = kept.len().saturating_sub(KEPT_ERRORS);
        kept.drain(..surplus);
    }
    String::from_utf8_lossy(&kept).into_owned()
}

/// What became of a filter whose process ended without its report: the status and the reason. `breakdown` is the status
/// where the cause is the filter's code, `doing` what it was doing.
pub fn cause_of_death(status: ExitStatus, errors: &str, breakdown: Status, doing: &str) -> (Status, String) {
    let last = errors.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("without a message");
    // What the standard library says before it aborts.
    if errors.contains("memory allocation of") {
        return (Status::OutOfMemory, format!("out of memory in {doing}: {last}"));
    }
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        const SIGKILL: i32 = 9;
        if signal == SIGKILL {
            return (
                Status::OutOfMemory,
                format!("killed by the system in {doing}, most likely for its memory"),
            );
        }
        return (breakdown, format!("died by signal {signal} in {doing}: {last}"));
    }
    (breakdown, format!("ended early in {doing} ({status}): {last}"))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    fn run(script: &str, deadline: Duration, interrupted: bool) -> (Ending, Vec<String>) {
        let mut lines = Vec::new();
        let ending = watch(shell(script), b"input\n", deadline, &AtomicBool::new(interrupted), |line| {
            lines.push(line.into());
            Ok(())
        });
        (ending.unwrap(), lines)
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn output_and_success_are_reported() {
        let (ending, lines) = run("cat; echo b; echo c >&2", LONG, false);
        assert_eq!(lines, ["input", "b"]);
        assert!(matches!(ending, Ending::Exited { status, errors } if status.success() && errors == "c\n"));
    }

    #[test]
    fn a_process_that_hangs_is_killed_even_if_it_reported_before() {
        let start = Instant::now();
        let (ending, lines) = run("echo a; exec sleep 600", Duration::from_millis(200), false);
        assert_eq!(lines, ["a"]);
        assert!(matches!(ending, Ending::Deadline), "{ending:?}");
        // One that has closed its output as well.
        let (ending, _) = run("exec >&- 2>&-; exec sleep 600", Duration::from_millis(200), false);
        assert!(matches!(ending, Ending::Deadline), "{ending:?}");
        assert!(start.elapsed() < LONG);
    }

    #[test]
    fn an_interruption_ends_it() {
        let start = Instant::now();
        assert!(matches!(run("exec sleep 600", LONG, true).0, Ending::Interrupted));
        assert!(start.elapsed() < LONG);
    }

    fn death(script: &str) -> (Status, String) {
        match run(script, LONG, false).0 {
            Ending::Exited { status, errors } => {
                cause_of_death(status, &errors, Status::BuildFailed, "the build")
            }
            ending => panic!("{ending:?}"),
        }
    }

    #[test]
    fn deaths_are_told_apart() {
        let (status, reason) = death("echo 'memory allocation of 77 bytes failed' >&2; kill -ABRT $$");
        assert_eq!(status, Status::OutOfMemory);
        assert!(reason.contains("77 bytes"), "{reason}");
        let (status, reason) = death("kill -KILL $$");
        assert_eq!(status, Status::OutOfMemory, "{reason}");
        let (status, reason) = death("echo broken >&2; kill -SEGV $$");
        assert_eq!(status, Status::BuildFailed);
        assert!(reason.contains("signal 11") && reason.contains("broken"), "{reason}");
        let (status, reason) = death("exit 3");
        assert_eq!(status, Status::BuildFailed);
        assert!(reason.contains("the build") && reason.contains('3'), "{reason}");
    }
}

//! Progress on the error output: a line that changes on a terminal, plain lines elsewhere.

use std::io::{IsTerminal as _, stderr};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// Progress over groups of known cost.
#[derive(Debug)]
pub struct Progress {
    /// `None` where there is no terminal.
    bar: Option<ProgressBar>,
    groups: usize,
    started: Instant,
    /// Cost of the groups done in this process.
    done: f64,
    /// Cost of those to do, the current one included.
    left: f64,
    current: String,
}

impl Progress {
    /// For `costs`, of which the first `finished` groups were done before.
    pub fn new(costs: &[f64], finished: usize) -> Self {
        let bar = stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(costs.len() as u64);
            if let Ok(style) = ProgressStyle::with_template("{spinner} {bar:24} {msg}") {
                bar.set_style(style);
            }
            bar.set_position(finished as u64);
            bar.enable_steady_tick(Duration::from_millis(200));
            bar
        });
        let left = costs.iter().skip(finished).sum();
        Self { bar, groups: costs.len(), started: Instant::now(), done: 0.0, left, current: String::new() }
    }

    /// A group begins.
    pub fn begin(&mut self, index: usize, what: &str) {
        self.current = format!("group {}/{}: {what}", index + 1, self.groups);
        if let Some(time) = self.time_left() {
            self.current = format!("{}, about {} left", self.current, in_words(time));
        }
        match &self.bar {
            Some(bar) => bar.set_message(self.current.clone()),
            None => eprintln!("{}", self.current),
        }
    }

    /// Something in it begins. Shown on terminals only.
    pub fn step(&self, what: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(format!("{} ({what})", self.current));
        }
    }

    /// The group is done.
    pub fn end(&mut self, cost: f64) {
        self.done += cost;
        self.left -= cost;
        if let Some(bar) = &self.bar {
            bar.inc(1);
        }
    }

    /// A message that stays.
    pub fn say(&self, message: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| eprintln!("{message}")),
            None => eprintln!("{message}"),
        }
    }

    /// Clears the changing line.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    /// As the finished groups went, by their cost; `None` before the first.
    fn time_left(&self) -> Option<Duration> {
        let seconds = self.started.elapsed().as_secs_f64() * self.left / self.done;
        Duration::try_from_secs_f64(seconds).ok()
    }
}

fn in_words(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..100 => format!("{seconds} s"),
        seconds @ 100..6000 => format!("{} min", seconds.div_ceil(60)),
        seconds => format!("{:.1} h", seconds as f64 / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_said_in_words() {
        for (seconds, words) in [(0, "0 s"), (99, "99 s"), (100, "2 min"), (5999, "100 min"), (9000, "2.5 h")]
        {
            assert_eq!(in_words(Duration::from_secs(seconds)), words);
        }
    }

    #[test]
    fn there_is_no_estimate_before_the_first_group() {
        let mut progress = Progress::new(&[1.0, 3.0], 0);
        assert_eq!(progress.time_left(), None);
        progress.end(1.0);
        assert!(progress.time_left().is_some());
    }
}

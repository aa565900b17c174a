//! The clock, and how a short piece of work is timed by it.

use std::convert::Infallible;
use std::time::{Duration, Instant};

/// A timed sample is at least so many times the clock's resolution.
const RESOLUTIONS: f64 = 1000.0;

/// Repeated so often at most within one sample.
const LOOPS: u32 = 4096;

/// What the clock can do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clock {
    /// The smallest difference of two readings that is not 0, in nanoseconds.
    pub resolution_ns: f64,
    /// What one reading costs, in nanoseconds.
    pub cost_ns: f64,
}

impl Clock {
    /// Asks the clock itself. Some milliseconds.
    pub fn measure() -> Self {
        const READINGS: u32 = 20_000;
        let mut resolution = Duration::MAX;
        let start = Instant::now();
        let mut last = start;
        for _ in 0..READINGS {
            let now = Instant::now();
            let step = now - last;
            if !step.is_zero() {
                resolution = resolution.min(step);
            }
            last = now;
        }
        Self {
            resolution_ns: resolution.as_secs_f64() * 1e9,
            cost_ns: (last - start).as_secs_f64() * 1e9 / f64::from(READINGS),
        }
    }

    fn shortest_sample(&self) -> Duration {
        Duration::from_secs_f64((self.resolution_ns.max(self.cost_ns) * RESOLUTIONS / 1e9).min(0.01))
    }

    /// Nanoseconds of `work` for each of `operations`, of which it does all each time it is called. It is called again, in one
    /// sample, while that is too short for the clock.
    pub fn time(&self, operations: u64, mut work: impl FnMut()) -> f64 {
        let Ok((ns, ())) = self.time_fresh(
            operations,
            || Ok::<_, Infallible>(()),
            |()| {
                work();
                Ok(())
            },
        );
        ns
    }

    /// As [`time`](Self::time), for work that needs something fresh each time and may fail: `prepare` is not timed, and
    /// neither is the dropping of what `work` returns. What it returned last is returned too.
    ///
    /// # Errors
    /// The first error of `prepare` or `work`, in whichever call.
    pub fn time_fresh<T, R, E>(
        &self,
        operations: u64,
        mut prepare: impl FnMut() -> Result<T, E>,
        mut work: impl FnMut(T) -> Result<R, E>,
    ) -> Result<(f64, R), E> {
        let input = prepare()?;
        let start = Instant::now();
        let mut output = work(input)?;
        let once = start.elapsed();
        let shortest = self.shortest_sample();
        let (taken, loops) = if once >= shortest {
            (once, 1)
        } else {
            // A quarter more, since the first time is the slowest.
            let wanted = shortest.as_secs_f64() * 1.25 / once.as_secs_f64().max(1e-9);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "positive, at most LOOPS"
            )]
            let loops = wanted.ceil().clamp(2.0, f64::from(LOOPS)) as u32;
            let inputs: Vec<_> = (0..loops).map(|_| prepare()).collect::<Result<_, E>>()?;
            let mut outputs = Vec::with_capacity(inputs.len());
            let start = Instant::now();
            for input in inputs {
                outputs.push(work(input)?);
            }
            let taken = start.elapsed();
            if let Some(last) = outputs.pop() {
                output = last;
            }
            (taken, loops)
        };
        Ok((taken.as_secs_f64() * 1e9 / f64::from(loops) / operations.max(1) as f64, output))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_work_is_repeated_and_long_work_is_not() {
        let clock = Clock::measure();
        assert!(clock.resolution_ns > 0.0 && clock.resolution_ns < 1e6, "{clock:?}");
        assert!(clock.cost_ns > 0.0 && clock.cost_ns < 1e6, "{clock:?}");
        let mut calls = 0;
        let per_operation = clock.time(10, || calls += 1);
        assert!(calls > 2 && per_operation >= 0.0, "{calls} calls, {per_operation} ns");
        let mut calls = 0;
        let per_operation = clock.time(2, || {
            calls += 1;
            std::thread::sleep(Duration::from_millis(12));
        });
        assert_eq!(calls, 1);
        assert!(per_operation > 5.9e6, "{per_operation} ns");
    }

    #[test]
    fn an_error_in_any_call_is_returned() {
        let clock = Clock::measure();
        for failing in 1..=3 {
            let mut calls = 0;
            let mut count = || {
                calls += 1;
                if calls == failing { Err(calls) } else { Ok(()) }
            };
            assert_eq!(clock.time_fresh(1, || Ok(()), |()| count()), Err(failing));
            let mut calls = 0;
            let count = || {
                calls += 1;
                if calls == failing { Err(calls) } else { Ok(()) }
            };
            assert_eq!(clock.time_fresh(1, count, |()| Ok(())), Err(failing));
        }
    }
}

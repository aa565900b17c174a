//! The time that a hypervisor took.

use std::time::Instant;

use crate::store::machine::Ticks;
use crate::store::run::RunInfo;
use crate::store::sample::Sample;

/// The share of time that a hypervisor took, over all sittings of a run.
#[derive(Debug)]
pub(super) struct Steal {
    /// Of the sittings before.
    before: Option<f64>,
    /// How long their finished groups took.
    seconds_before: f64,
    ticks: Option<Ticks>,
    started: Instant,
}

impl Steal {
    pub(super) fn since(info: &RunInfo, samples: &[Sample]) -> Self {
        let seconds = samples.iter().filter_map(|sample| match sample {
            Sample::GroupDone(done) => Some(done.seconds),
            _ => None,
        });
        Self {
            before: info.machine.steal,
            seconds_before: seconds.sum(),
            ticks: Ticks::now(),
            started: Instant::now(),
        }
    }

    pub(super) fn until_now(&self) -> Option<f64> {
        let now = self.ticks.and_then(Ticks::stolen_since);
        pooled(self.before, self.seconds_before, now, self.started.elapsed().as_secs_f64())
    }
}

/// The share over two stretches of time; of one of them where the other's is not known.
fn pooled(first: Option<f64>, seconds: f64, second: Option<f64>, more_seconds: f64) -> Option<f64> {
    let (Some(before), Some(now)) = (first, second) else { return second.or(first) };
    let all = seconds + more_seconds;
    if all > 0.0 { Some((before * seconds + now * more_seconds) / all) } else { second }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stolen_time_is_pooled_over_the_sittings() {
        assert_eq!(pooled(Some(0.5), 30.0, Some(0.1), 10.0), Some(0.4));
        assert_eq!(pooled(None, 30.0, Some(0.1), 10.0), Some(0.1));
        assert_eq!(pooled(Some(0.5), 30.0, None, 10.0), Some(0.5));
        assert_eq!(pooled(Some(0.5), 0.0, Some(0.1), 0.0), Some(0.1));
    }
}

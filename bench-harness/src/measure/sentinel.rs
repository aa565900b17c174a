//! Work that is always the same, timed beside the filters: when it takes longer in one group than in another, the machine has
//! changed, not a filter.

use std::hint::black_box;

use amq_bits::{AllocError, Store as _, StoreMut as _, Table};

use super::clock::Clock;

/// Bytes of the table that is read: more than a core's own caches hold.
const BYTES: u64 = 8 << 20;
const LINE: u64 = 64;

/// Multiplications in one timing, each waiting for the one before it.
const STEPS: u64 = 1 << 16;
/// Reads in one timing, one of each line, none waiting for another.
const READS: u64 = BYTES / LINE;

/// A multiplier of full period (Steele and Vigna, *Computationally easy, spectrally good multipliers*, 2022).
const MULTIPLIER: u64 = 0xD134_2543_DE82_EF95;

/// The work.
#[derive(Debug)]
pub struct Sentinel {
    table: Table,
}

impl Sentinel {
    /// With a table of its own.
    ///
    /// # Errors
    /// If there is no memory for it.
    pub fn new() -> Result<Self, AllocError> {
        let mut table = Table::zeroed(BYTES)?;
        // Pages that nobody has written may all be the same one.
        for (byte, number) in table.bytes_mut().iter_mut().zip((0..=u8::MAX).cycle()) {
            *byte = number;
        }
        Ok(Self { table })
    }

    /// Nanoseconds for a multiplication and for a random read.
    pub fn time(&self, clock: &Clock) -> (f64, f64) {
        let compute = clock.time(STEPS, || {
            black_box((0..STEPS).fold(black_box(1), |x: u64, step| x.wrapping_mul(MULTIPLIER) ^ step));
        });
        let memory = clock.time(READS, || {
            black_box(self.read_at_random(black_box(1)));
        });
        (compute, memory)
    }

    fn read_at_random(&self, seed: u64) -> u64 {
        let bytes = self.table.bytes();
        (0..READS).fold(0, |sum, read| {
            // Each line once, since the factor is odd and their number a power of two.
            let line = (read ^ seed).wrapping_mul(MULTIPLIER) & (READS - 1);
            // Within the table, whose length is a usize.
            sum + u64::from(bytes[usize::try_from(line * LINE + line % LINE).unwrap_or(0)])
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_reads_its_whole_table_and_takes_time() {
        let sentinel = Sentinel::new().unwrap();
        // In line i byte i % 64 counts, which is 64·(i % 4) + i % 64.
        let expected: u64 = (0..READS).map(|line| LINE * (line % 4) + line % LINE).sum();
        assert_eq!(sentinel.read_at_random(7), expected);
        let (compute, memory) = sentinel.time(&Clock::measure());
        assert!(compute > 0.0 && memory > 0.0, "{compute} {memory}");
    }
}

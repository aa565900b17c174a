//! Hashing on its own: what a lookup that starts at the key pays before the filter is asked.

use std::hash::RandomState;
use std::hint::black_box;

use amq::{Digest, Hashed, Key as _, attempt_seed};
use amq_testkit::keys::digests;
use anyhow::{Context as _, Result};

use super::{Outcome, Tell};
use crate::measure::clock::Clock;
use crate::store::study::{Quantity, Value};

/// Keys hashed in a pass: few enough to stay in the first-level cache, whose reading is not the subject.
const KEYS: usize = 256;

/// The sum of the digests of some integers, of keys of 16 bytes, or of 64 bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hash {
    integers: fn(&[u64], &Context) -> u64,
    short: fn(&[[u8; 16]], &Context) -> u64,
    long: fn(&[[u8; 64]], &Context) -> u64,
}

/// What hashes need.
#[derive(Debug)]
struct Context {
    seed: u64,
    secret: Hashed<RandomState>,
}

/// Adds up what a hash makes of each key; a barrier on each keeps the loop one that hashes key after key.
fn sum<K>(keys: &[K], digest: impl Fn(&K) -> Digest) -> u64 {
    keys.iter().fold(0, |sum, key| black_box(digest(key)).get().wrapping_add(sum))
}

/// The hashes, by name.
pub(super) const HASHES: [(&str, Hash); 2] = [
    (
        "xxh3-64",
        Hash {
            integers: |keys, context| sum(keys, |key| key.digest(context.seed)),
            short: |keys, context| sum(keys, |key| key.digest(context.seed)),
            long: |keys, context| sum(keys, |key| key.digest(context.seed)),
        },
    ),
    (
        "siphash-1-3",
        Hash {
            integers: |keys, context| sum(keys, |key| context.secret.digest(key)),
            short: |keys, context| sum(keys, |key| context.secret.digest(key)),
            long: |keys, context| sum(keys, |key| context.secret.digest(key)),
        },
    ),
];

/// Times the hash of this name.
pub(super) fn measure(name: &str, seed: u64, repetitions: u32, tell: Tell<'_>) -> Outcome {
    let (_, hash) =
        HASHES.iter().find(|(known, _)| *known == name).with_context(|| format!("no hash {name:?}"))?;
    let clock = Clock::measure();
    let context = Context { seed, secret: Hashed::new(RandomState::new()) };
    for repetition in 0..repetitions {
        let words = digests(8 * KEYS as u64, attempt_seed(seed, repetition));
        let words: Vec<u64> = words.into_iter().map(Digest::get).collect();
        time(&clock, &words[..KEYS], &context, hash.integers, Quantity::HashU64, tell)?;
        time(&clock, &bytes::<16>(&words), &context, hash.short, Quantity::HashBytes16, tell)?;
        time(&clock, &bytes::<64>(&words), &context, hash.long, Quantity::HashBytes64, tell)?;
    }
    Ok(Ok(()))
}

/// Keys of so many bytes out of random words.
fn bytes<const LENGTH: usize>(words: &[u64]) -> Vec<[u8; LENGTH]> {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    bytes.as_chunks::<LENGTH>().0.iter().copied().take(KEYS).collect()
}

fn time<K>(
    clock: &Clock,
    keys: &[K],
    context: &Context,
    hash: fn(&[K], &Context) -> u64,
    quantity: Quantity,
    tell: Tell<'_>,
) -> Result<()> {
    black_box(hash(black_box(keys), context));
    let ns = clock.time(keys.len() as u64, || {
        black_box(hash(black_box(keys), context));
    });
    tell(Some(Value::of(quantity, ns)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_depend_on_every_key_and_are_timed() {
        let context = Context { seed: 1, secret: Hashed::new(RandomState::new()) };
        let words: Vec<u64> = (0..2048).collect();
        for (name, hash) in HASHES {
            let (short, mut long) = (bytes::<16>(&words), bytes::<64>(&words));
            assert_eq!((short.len(), long.len()), (KEYS, KEYS));
            let before = (hash.long)(&long, &context);
            assert_eq!(before, (hash.long)(&long, &context), "{name}");
            long[255][63] ^= 1;
            assert_ne!(before, (hash.long)(&long, &context), "{name}");
            let mut times = 0;
            let outcome = measure(name, 1, 3, &mut |value| {
                assert!(value.is_some_and(|value| value.samples[0] > 0.0));
                times += 1;
                Ok(())
            });
            assert_eq!((outcome.unwrap(), times), (Ok(()), 9));
        }
        assert!(measure("md5", 1, 3, &mut |_| Ok(())).is_err());
    }
}

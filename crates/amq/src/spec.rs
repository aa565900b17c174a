//! The wish ([`Spec`]) and what a family makes of it ([`Plan`]).

use crate::SpecError;

/// What a filter should achieve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    /// A false-positive rate of at most this, in (0, 1), in the mean over hash functions, at the capacity. The family picks
    /// its best parameters. A family whose rate comes in steps of two may stay well below it; one that is sized to the bit by
    /// the usual formula for large tables (Bloom) may miss it by the few percent that a whole number of hash functions and a
    /// small table cost: the plan tells the rate that it predicts.
    Fpr(f64),
    /// A load and a width, each as the family understands it: see [`Kind`](crate::Kind).
    Shape {
        /// Records per slot, keys per cell, or keys over the design capacity. Taken literally.
        alpha: f64,
        /// Remainder bits, bits per cell, or number of hash functions at the design point.
        r: u32,
    },
    /// At most this many payload bits per key at the capacity (up to the padding of one table); the rate is what comes of it.
    BitsPerKey(f64),
}

/// The wish: a target, the capacity that it is meant for, and a seed. Nothing else.
///
/// The capacity is a design point, not a limit: a filter takes more keys as long as its structure can hold them. The seed is
/// the one that keys are digested under (`key.digest(spec.seed())`), and every random choice of a construction derives from
/// it: the same digests and spec make the same bytes.
///
/// ```
/// use amq::Spec;
///
/// let spec = Spec::fpr(0.01, 1_000_000).with_seed(7);
/// assert_eq!((spec.capacity(), spec.seed()), (1_000_000, 7));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spec {
    target: Target,
    capacity: u64,
    seed: u64,
}

impl Spec {
    /// A false-positive rate of at most `fpr` at `capacity` keys, as [`Target::Fpr`] means it.
    pub const fn fpr(fpr: f64, capacity: u64) -> Self {
        Self::new(Target::Fpr(fpr), capacity)
    }

    /// The load `alpha` at `capacity` keys, and the width `r`.
    pub const fn shape(alpha: f64, r: u32, capacity: u64) -> Self {
        Self::new(Target::Shape { alpha, r }, capacity)
    }

    /// At most `bits` of payload per key at `capacity` keys.
    pub const fn bits_per_key(bits: f64, capacity: u64) -> Self {
        Self::new(Target::BitsPerKey(bits), capacity)
    }

    /// Any target; the seed is 0. Nothing is checked before a family plans it.
    pub const fn new(target: Target, capacity: u64) -> Self {
        Self { target, capacity, seed: 0 }
    }

    /// The same wish under another seed.
    #[must_use]
    pub const fn with_seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// What is asked for.
    pub const fn target(&self) -> Target {
        self.target
    }

    /// The number of keys that the target is meant for.
    pub const fn capacity(&self) -> u64 {
        self.capacity
    }

    /// The seed.
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// The target, once it is known to make sense for some family: the first step of every plan.
    ///
    /// # Errors
    /// If a number is not finite, a rate not in (0, 1), or a load or a number of bits not above 0.
    pub fn checked_target(&self) -> Result<Target, SpecError> {
        match self.target {
            Target::Fpr(fpr) if !(fpr > 0.0 && fpr < 1.0) => Err(SpecError::Fpr { fpr }),
            Target::Shape { alpha, .. } if !(alpha > 0.0 && alpha.is_finite()) => {
                Err(SpecError::Alpha { alpha, lowest: 0.0, highest: f64::INFINITY })
            }
            Target::BitsPerKey(bits) if !(bits > 0.0 && bits.is_finite()) => {
                Err(SpecError::BitsPerKey { bits, lowest: 0.0, highest: f64::INFINITY })
            }
            target => Ok(target),
        }
    }
}

/// What a family makes of a [`Spec`]. Computed from the spec alone, by integer arithmetic or correctly rounded and portable
/// floating point, so that it is the same on every machine. Keeps no memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// The spec's capacity: the number of keys that the other figures are for.
    pub capacity: u64,
    /// Slots, cells, counters or bits.
    pub slots: u64,
    /// The load at the capacity: see [`Kind`](crate::Kind). 0 at capacity 0.
    pub alpha: f64,
    /// Remainder bits, bits per cell, or number of hash functions at the design point.
    pub r: u32,
    /// Places that a lookup of a present key reads, where the family computes them from the digest: Bloom's k, 3 for xor.
    pub k: Option<u32>,
    /// Bytes of the table: everything that a lookup can read, padding included.
    pub table_bytes: u64,
    /// The predicted false-positive rate at the capacity: a mean over hash functions.
    pub fpr: f64,
}

impl Plan {
    /// The table in bits.
    pub const fn payload_bits(&self) -> u64 {
        self.table_bytes.saturating_mul(8)
    }

    /// Payload bits over the capacity; `None` at capacity 0.
    pub fn bits_per_key(&self) -> Option<f64> {
        (self.capacity > 0).then(|| self.payload_bits() as f64 / self.capacity as f64)
    }
}

/// The memory of a filter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Space {
    /// All bits that a lookup can read, padding and overflow areas included, the filter's own few header fields not.
    pub payload_bits: u64,
    /// Bytes requested from the allocator and live; 0 for a borrowed table.
    pub heap_bytes: u64,
}

impl Space {
    /// The space of a filter that is one table.
    pub fn of_table(table: &impl amq_bits::Store) -> Self {
        Self { payload_bits: table.bytes().len() as u64 * 8, heap_bytes: table.heap_bytes() }
    }
}

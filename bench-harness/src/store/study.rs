//! Studies in the stored results: what was asked, what was found, and the rows of `studies.csv`.
//!
//! A study is a question that does not fit the cells of filter × cell × workload. Each of its records is one filter at one
//! point, one line of `samples.jsonl`, and once it is there it is never measured again.

use amq_testkit::statistics::{clopper_pearson, median, median_interval};
use serde::{Deserialize, Serialize};

use super::cell::{SCHEMA, Status};

/// What is asked, and at which parameters.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "study", rename_all = "snake_case")]
pub enum StudyPoint {
    /// Single inserts from an empty filter to the first refusal, or to a load where it stops.
    Filling {
        /// Keys that the filter is planned for: tables for this many at the highest load, Bloom types at the design point.
        n: u64,
        /// Remainder bits, the nearest that a family has; Bloom types at the rate 2^-r.
        r: u32,
    },
    /// Lookups in one filter that stays in the cache, and in many, one after the other.
    Cold {
        /// Keys in each filter.
        n: u64,
        /// The rate asked for.
        fpr: f64,
        /// How many filters.
        fleet: Fleet,
    },
    /// Hashing alone.
    Hashing,
    /// Builds under many seeds.
    Builds {
        /// Keys.
        n: u64,
        /// The rate asked for.
        fpr: f64,
        /// As many builds, each with its own seed and keys.
        seeds: u64,
    },
    /// Tables filled until they refuse a key, under many seeds.
    Refusal {
        /// Keys that the table is planned for at the highest load.
        n: u64,
        /// Remainder bits, the nearest that a family has.
        r: u32,
        /// As many tables, each with its own seed and keys.
        seeds: u64,
    },
    /// Bits a key over a fine grid of n.
    Space {
        /// The rate asked for.
        fpr: f64,
        /// The smallest n.
        from: u64,
        /// The largest.
        to: u64,
        /// Numbers in a decade.
        per_decade: u32,
    },
    /// Lengths of clusters in full tables, under many seeds, against their law.
    Clusters {
        /// Keys.
        n: u64,
        /// Records over slots.
        alpha: f64,
        /// As many tables, each with its own seed and keys.
        seeds: u64,
    },
    /// Builds from keys that repeat.
    Duplicates {
        /// Keys handed over, copies included.
        n: u64,
        /// The share of them that are copies of an earlier one; 1 stands for one key over and over.
        copies: f64,
        /// The rate asked for.
        fpr: f64,
    },
}

/// How many filters cold lookups go through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fleet {
    /// This many.
    Of(u64),
    /// So many that their tables are several times the last-level cache, or as many as the memory limit allows.
    BeyondCache,
}

impl StudyPoint {
    /// The study's name in `studies.csv`.
    pub const fn study(&self) -> &'static str {
        match self {
            Self::Filling { .. } => "filling",
            Self::Cold { .. } => "cold",
            Self::Hashing => "hashing",
            Self::Builds { .. } => "builds",
            Self::Refusal { .. } => "refusal",
            Self::Space { .. } => "space",
            Self::Clusters { .. } => "clusters",
            Self::Duplicates { .. } => "duplicates",
        }
    }

    /// The number of keys, where the point has one.
    pub const fn n(&self) -> Option<u64> {
        match *self {
            Self::Filling { n, .. }
            | Self::Cold { n, .. }
            | Self::Builds { n, .. }
            | Self::Refusal { n, .. }
            | Self::Clusters { n, .. }
            | Self::Duplicates { n, .. } => Some(n),
            Self::Hashing | Self::Space { .. } => None,
        }
    }

    /// The other parameters, as `name=value` with spaces in between.
    pub fn parameters(&self) -> String {
        match *self {
            Self::Filling { r, .. } => format!("r={r}"),
            Self::Cold { fpr, fleet: Fleet::Of(filters), .. } => format!("fpr={fpr} filters={filters}"),
            Self::Cold { fpr, fleet: Fleet::BeyondCache, .. } => format!("fpr={fpr} filters=beyond-cache"),
            Self::Hashing => String::new(),
            Self::Builds { fpr, seeds, .. } => format!("fpr={fpr} seeds={seeds}"),
            Self::Refusal { r, seeds, .. } => format!("r={r} seeds={seeds}"),
            Self::Space { fpr, .. } => format!("fpr={fpr}"),
            Self::Clusters { alpha, seeds, .. } => format!("alpha={alpha} seeds={seeds}"),
            Self::Duplicates { copies, fpr, .. } => format!("copies={copies} fpr={fpr}"),
        }
    }
}

/// How the row of a quantity comes from its samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Summary {
    /// Samples are repetitions: their median, and its order-statistic interval (95 %, where there are enough).
    Median,
    /// Samples are draws of a distribution that is itself the subject: its median, its smallest and its largest value.
    Spread,
    /// Samples are 0 or 1, draws of an event: its share, and the exact (Clopper-Pearson) 95 % interval.
    Share,
}

macro_rules! quantities {
    ($($variant:ident $name:literal $summary:ident $doc:literal;)*) => {
        /// What a study measures.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum Quantity {
            $(#[doc = $doc] #[serde(rename = $name)] $variant,)*
        }

        impl Quantity {
            /// Every quantity, in the order of the documentation.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The name in `studies.csv`.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// How its row comes from its samples.
            pub const fn summary(self) -> Summary {
                match self { $(Self::$variant => Summary::$summary,)* }
            }

            /// What it is, in words.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $doc,)* }
            }
        }
    };
}

quantities! {
    InsertNs "insert_ns" Median "nanoseconds an insert over the whole step up to the load, the clock read once a step";
    InsertP50 "insert_p50_ns" Median "median of single inserts within the step, the cost of the clock subtracted";
    InsertP99 "insert_p99_ns" Median "99th percentile of the same";
    InsertP999 "insert_p999_ns" Median "99.9th percentile of the same";
    InsertMax "insert_max_ns" Median "the slowest single insert of the step";
    Moved "slots_moved" Median "mean number of slots that an insert of the step moved";
    MovedMax "slots_moved_max" Median "the most slots that an insert of the step moved";
    ClockNs "clock_ns" Median "nanoseconds of one reading of the clock, which were subtracted from single inserts";
    RefusalLoad "refusal_load" Spread "records over slots when the first insert was refused";
    KeysLost "keys_lost" Median "keys inserted before but not found after the last insert";
    NeverRefused "never_refused" Share "tables that took a key for each of their slots";
    Filters "filters" Median "filters that the lookups went through";
    FleetBytes "fleet_bytes" Median "bytes of all their tables";
    HotMissNs "hot_miss_ns" Median "single lookups of absent keys, all in one filter";
    HotHitNs "hot_hit_ns" Median "single lookups of members, all in one filter";
    HotMissBatchNs "hot_miss_batch_ns" Median "the same of absent keys in batches";
    HotHitBatchNs "hot_hit_batch_ns" Median "the same of members in batches";
    ColdMissNs "cold_miss_ns" Median "single lookups of absent keys, each in another filter than the one before";
    ColdHitNs "cold_hit_ns" Median "single lookups of members, each in another filter than the one before";
    ColdMissBatchNs "cold_miss_batch_ns" Median "lookups of absent keys in batches, each batch in another filter than the one before";
    ColdHitBatchNs "cold_hit_batch_ns" Median "the same of members";
    EvictedMissNs "evicted_miss_ns" Median "as `cold_miss_ns`, after the caches were overwritten with other data";
    EvictedHitNs "evicted_hit_ns" Median "as `cold_hit_ns`, after the caches were overwritten with other data";
    EvictedMissBatchNs "evicted_miss_batch_ns" Median "as `cold_miss_batch_ns`, after the caches were overwritten with other data";
    EvictedHitBatchNs "evicted_hit_batch_ns" Median "as `cold_hit_batch_ns`, after the caches were overwritten with other data";
    HashU64 "hash_u64_ns" Median "nanoseconds to hash a 64-bit integer";
    HashBytes16 "hash_16_bytes_ns" Median "nanoseconds to hash 16 bytes";
    HashBytes64 "hash_64_bytes_ns" Median "nanoseconds to hash 64 bytes";
    Attempts "attempts" Spread "attempts of a build that succeeded";
    Failed "failed" Share "builds that gave up";
    PayloadBits "payload_bits_per_key" Median "all bits that a lookup can read, over n";
    HeapBits "heap_bits_per_key" Median "live bits on the heap, over n";
    PeakBits "peak_build_bits_per_key" Median "highest live bits on the heap during the build, the keys handed over not counted, over n";
    ClusterShare "cluster_share" Spread "share of a table's clusters whose length is this one or more, but less than that of the next row";
    ClusterLaw "cluster_share_expected" Median "the same by the law of cluster lengths";
    ClusterMean "cluster_length" Spread "mean length of a table's clusters, in slots";
    ClusterP "cluster_p" Spread "p-value of a table's cluster lengths against the law, by a chi-square test";
    Distinct "distinct" Median "distinct keys among those handed over";
    Records "records" Median "records or keys that the filter says it holds";
    BuildNs "build_ns_per_key" Median "nanoseconds of the build for each key handed over; once, without care: an order of magnitude";
}

/// What was found of a quantity at a place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Value {
    /// Keys, where the study goes over them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n: Option<u64>,
    /// Records over slots (tables) or keys over the design capacity (Bloom types), where the study goes over them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<f64>,
    /// Slots of a cluster, where the study goes over them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<u64>,
    /// Which quantity.
    pub quantity: Quantity,
    /// Every sample: one a repetition, or one a seed.
    pub samples: Vec<f64>,
}

impl Value {
    /// One sample that belongs to no place.
    pub fn of(quantity: Quantity, sample: f64) -> Self {
        Self { n: None, load: None, length: None, quantity, samples: vec![sample] }
    }

    /// The same at a number of keys.
    #[must_use]
    pub fn at_n(self, n: u64) -> Self {
        Self { n: Some(n), ..self }
    }

    /// The same at a load.
    #[must_use]
    pub fn at_load(self, load: f64) -> Self {
        Self { load: Some(load), ..self }
    }

    /// The same at a length.
    #[must_use]
    pub fn at_length(self, length: u64) -> Self {
        Self { length: Some(length), ..self }
    }

    fn same_place(&self, other: &Self) -> bool {
        let place = |value: &Self| (value.n, value.load, value.length, value.quantity);
        place(self) == place(other)
    }

    /// Median, share or spread of the samples, and its interval, by the quantity's [`Summary`].
    pub fn summary(&self) -> (Option<f64>, Option<f64>, Option<f64>) {
        let mut samples = self.samples.clone();
        match self.quantity.summary() {
            Summary::Median => {
                let middle = median(&mut samples);
                let interval = median_interval(&mut samples, 0.95);
                (middle, interval.map(|interval| interval.low), interval.map(|interval| interval.high))
            }
            Summary::Spread => {
                let middle = median(&mut samples);
                (middle, samples.first().copied(), samples.last().copied())
            }
            Summary::Share => {
                let trials = samples.len() as u64;
                let events = samples.iter().filter(|&&sample| sample > 0.5).count() as u64;
                let interval = clopper_pearson(events, trials, 0.95);
                let known = |x| (trials > 0).then_some(x);
                (known(events as f64 / trials as f64), known(interval.low), known(interval.high))
            }
        }
    }
}

/// One filter at one point of a study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The point.
    pub point: StudyPoint,
    /// The filter; for hashing, the hash.
    pub filter: String,
    /// The seed of its keys and filters.
    pub seed: u64,
    /// Whether it got through.
    pub status: Status,
    /// Why not.
    pub reason: String,
    /// How long it took.
    pub seconds: f64,
    /// What was found, as far as it came.
    pub values: Vec<Value>,
}

impl Record {
    /// Adds what was found; samples of one quantity at one place belong together.
    pub fn add(&mut self, value: Value) {
        // Most often the last but a few: those of one repetition come in the same order as those of the one before.
        match self.values.iter_mut().find(|known| known.same_place(&value)) {
            Some(known) => known.samples.extend(value.samples),
            None => self.values.push(value),
        }
    }

    /// What was found of a quantity, in the order of the places.
    pub fn of(&self, quantity: Quantity) -> impl Iterator<Item = &Value> {
        self.values.iter().filter(move |value| value.quantity == quantity)
    }

    /// The summary of a quantity that the record has in one place.
    pub fn single(&self, quantity: Quantity) -> Option<(f64, Option<(f64, f64)>)> {
        let (value, lo, hi) = self.of(quantity).next()?.summary();
        Some((value?, lo.zip(hi)))
    }
}

/// One row of `studies.csv`. Empty = not known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// [`SCHEMA`]
    pub schema: u32,
    /// The run's name.
    pub run: String,
    /// The study's name.
    pub study: String,
    /// The point's parameters but for n.
    pub parameters: String,
    /// The filter.
    pub filter: String,
    /// Whether it got through.
    pub status: Status,
    /// Why not.
    pub reason: String,
    /// Keys: those of the place, or the point's.
    pub n: Option<u64>,
    /// The place's load.
    pub load: Option<f64>,
    /// The place's length of a cluster, in slots.
    pub length: Option<u64>,
    /// [`Quantity::name`]; empty in the one row of a record that found nothing.
    pub quantity: String,
    /// See [`Summary`].
    pub value: Option<f64>,
    /// See [`Summary`].
    pub lo: Option<f64>,
    /// See [`Summary`].
    pub hi: Option<f64>,
    /// How many samples it is made from.
    pub samples: u64,
}

/// The rows of `studies.csv`, in the order of the records.
pub fn rows(run: &str, records: &[Record]) -> Vec<Row> {
    let mut rows = Vec::new();
    for record in records {
        let row = Row {
            schema: SCHEMA,
            run: run.into(),
            study: record.point.study().into(),
            parameters: record.point.parameters(),
            filter: record.filter.clone(),
            status: record.status,
            reason: record.reason.clone(),
            n: record.point.n(),
            load: None,
            length: None,
            quantity: String::new(),
            value: None,
            lo: None,
            hi: None,
            samples: 0,
        };
        if record.values.is_empty() {
            rows.push(row);
            continue;
        }
        rows.extend(record.values.iter().map(|value| {
            let (middle, lo, hi) = value.summary();
            Row {
                n: value.n.or(row.n),
                load: value.load,
                length: value.length,
                quantity: value.quantity.name().into(),
                value: middle,
                lo,
                hi,
                samples: value.samples.len() as u64,
                ..row.clone()
            }
        }));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(quantity: Quantity, samples: &[f64]) -> Value {
        Value { samples: samples.to_vec(), ..Value::of(quantity, 0.0) }
    }

    #[test]
    fn summaries_are_as_computed_by_hand() {
        let times = [9.0, 1.0, 8.0, 2.0, 7.0, 3.0, 6.0, 4.0, 5.0];
        assert_eq!(value(Quantity::InsertNs, &times).summary(), (Some(5.0), Some(2.0), Some(8.0)));
        assert_eq!(value(Quantity::InsertNs, &[3.0]).summary(), (Some(3.0), None, None));
        assert_eq!(value(Quantity::RefusalLoad, &times).summary(), (Some(5.0), Some(1.0), Some(9.0)));
        assert_eq!(value(Quantity::InsertNs, &[]).summary(), (None, None, None));
        // 3 events of 1,000: the exact interval is 0.062 % to 0.874 %.
        let mut events = vec![0.0; 997];
        events.extend([1.0; 3]);
        let (share, lo, hi) = value(Quantity::Failed, &events).summary();
        assert_eq!(share, Some(0.003));
        assert!(
            (lo.unwrap() - 0.000_619).abs() < 1e-6 && (hi.unwrap() - 0.008_742).abs() < 1e-6,
            "{lo:?} {hi:?}"
        );
        assert_eq!(value(Quantity::Failed, &[]).summary(), (None, None, None));
    }

    #[test]
    fn samples_of_a_place_come_together_and_rows_tell_what_failed() {
        let mut record = Record {
            point: StudyPoint::Filling { n: 100, r: 8 },
            filter: "slots".into(),
            seed: 1,
            status: Status::Timeout,
            reason: "slow".into(),
            seconds: 1.0,
            values: Vec::new(),
        };
        let [empty] = &rows("run", std::slice::from_ref(&record))[..] else { panic!("one row") };
        assert_eq!((empty.status, empty.reason.as_str(), empty.value), (Status::Timeout, "slow", None));
        for repetition in [1.0, 2.0, 3.0] {
            for load in [0.1, 0.2] {
                record.add(Value::of(Quantity::InsertNs, repetition * 10.0).at_load(load));
            }
        }
        let rows = rows("run", &[record]);
        assert_eq!(rows.len(), 2);
        for (row, load) in rows.iter().zip([0.1, 0.2]) {
            assert_eq!((row.study.as_str(), row.parameters.as_str(), row.n), ("filling", "r=8", Some(100)));
            assert_eq!((row.load, row.value, row.samples), (Some(load), Some(20.0), 3));
        }
    }

    #[test]
    fn names_are_unique_and_survive_a_round_trip() {
        let mut names: Vec<_> = Quantity::ALL.iter().map(|quantity| quantity.name()).collect();
        for quantity in Quantity::ALL {
            let json = serde_json::to_string(quantity).unwrap();
            assert_eq!(json, format!("{:?}", quantity.name()));
            assert_eq!(serde_json::from_str::<Quantity>(&json).unwrap(), *quantity);
        }
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Quantity::ALL.len());
    }
}

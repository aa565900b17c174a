//! The operations as jobs: compiled once for each way to handle lines and, where it pays, with r as a constant.

use core::hint::select_unpredictable;

use amq::Digest;
use amq_bits::line::{Job, Lines, dispatch};
use amq_bits::prefetch::prefetch_read;

use super::lookup::Probe;
use super::{Home, RankSelect};
use crate::layout::LOOK_AHEAD;

/// Any r, not known to the compiler.
const ANY: u32 = 0;

/// Dispatches a job for the layout's r: as a constant where lookups are to be fastest.
macro_rules! for_r {
    ($layout:expr, $job:ident { $($field:ident: $value:expr),* $(,)? }) => {
        match $layout.shape.r {
            8 => dispatch($job::<8> { layout: $layout, $($field: $value),* }),
            12 => dispatch($job::<12> { layout: $layout, $($field: $value),* }),
            16 => dispatch($job::<16> { layout: $layout, $($field: $value),* }),
            _ => dispatch($job::<ANY> { layout: $layout, $($field: $value),* }),
        }
    };
}

/// The layout with r as a constant, unless it is any.
///
/// What a call that is not inlined gets a reference to has to be in memory, constants too. So such calls get the reference that the job
/// has, and never one to this copy.
#[inline(always)]
fn constant<const R: u32>(layout: &RankSelect) -> RankSelect {
    match R {
        8 => layout.with_constant_r::<8>(),
        12 => layout.with_constant_r::<12>(),
        16 => layout.with_constant_r::<16>(),
        _ => *layout,
    }
}

#[inline]
pub(super) fn contains(layout: &RankSelect, bytes: &[u8], digest: Digest) -> bool {
    for_r!(layout, Contains { bytes: bytes, digest: digest })
}

/// Writes one answer for each digest, of which there are as many.
pub(super) fn contains_batch(layout: &RankSelect, bytes: &[u8], digests: &[Digest], answers: &mut [bool]) {
    for_r!(layout, ContainsBatch { bytes: bytes, digests: digests, answers: answers });
}

#[inline]
pub(super) fn insert(layout: &RankSelect, bytes: &mut [u8], digest: Digest) -> u64 {
    for_r!(layout, Insert { bytes: bytes, digest: digest })
}

pub(super) fn insert_batch(layout: &RankSelect, bytes: &mut [u8], digests: &[Digest]) -> u64 {
    for_r!(layout, InsertBatch { bytes: bytes, digests: digests })
}

#[inline]
pub(super) fn remove(layout: &RankSelect, bytes: &mut [u8], digest: Digest) -> bool {
    for_r!(layout, Remove { bytes: bytes, digest: digest })
}

pub(super) fn remove_batch(layout: &RankSelect, bytes: &mut [u8], digests: &[Digest]) -> u64 {
    for_r!(layout, RemoveBatch { bytes: bytes, digests: digests })
}

struct Contains<'a, const R: u32> {
    layout: &'a RankSelect,
    bytes: &'a [u8],
    digest: Digest,
}

impl<const R: u32> Job for Contains<'_, R> {
    type Output = bool;

    #[inline(always)]
    fn run<L: Lines>(self, lines: L) -> bool {
        let Self { layout: whole, bytes, digest } = self;
        let layout = constant::<R>(whole);
        let home = layout.home(digest);
        let Probe { found, leaves } = layout.probe(lines, bytes, home);
        if leaves { contains_next_apart::<L, R>(whole, lines, bytes, digest) } else { found }
    }
}

/// As [`contains_next`], in a function of its own: the registers that it uses need not be saved by each lookup.
#[inline(never)]
fn contains_next_apart<L: Lines, const R: u32>(
    whole: &RankSelect,
    lines: L,
    bytes: &[u8],
    digest: Digest,
) -> bool {
    lines.run(
        #[inline(always)]
        || {
            let layout = constant::<R>(whole);
            contains_next(layout, whole, lines, bytes, layout.home(digest))
        },
    )
}

/// Whether there is a record of a fingerprint whose run leaves the block of its home.
#[inline(always)]
fn contains_next<L: Lines>(
    layout: RankSelect,
    whole: &RankSelect,
    lines: L,
    bytes: &[u8],
    home: Home,
) -> bool {
    let Probe { found, leaves } = layout.probe_next(lines, bytes, home);
    if leaves { whole.contains_far(bytes, home) } else { found }
}

/// Homes some way ahead of the work, so that each is computed once.
struct Ring {
    homes: [Home; Self::LEN],
}

impl Ring {
    const LEN: usize = LOOK_AHEAD.next_power_of_two();

    /// The first few homes, whose memory is asked for.
    #[inline(always)]
    fn new(layout: &RankSelect, bytes: &[u8], digests: &[Digest]) -> Self {
        let mut ring = Self { homes: [layout.home(Digest::new(0)); Self::LEN] };
        for (i, &digest) in digests.iter().take(LOOK_AHEAD).enumerate() {
            ring.put(layout, bytes, i, digest);
        }
        ring
    }

    #[inline(always)]
    fn put(&mut self, layout: &RankSelect, bytes: &[u8], i: usize, digest: Digest) {
        let home = layout.home(digest);
        prefetch_read(bytes, layout.base(home.place.block));
        self.homes[i % Self::LEN] = home;
    }

    /// The home of digest `i`, having asked for the memory of a later one.
    #[inline(always)]
    fn take(&mut self, layout: &RankSelect, bytes: &[u8], i: usize, digests: &[Digest]) -> Home {
        if let Some(&later) = digests.get(i + LOOK_AHEAD) {
            self.put(layout, bytes, i + LOOK_AHEAD, later);
        }
        self.homes[i % Self::LEN]
    }
}

struct ContainsBatch<'a, const R: u32> {
    layout: &'a RankSelect,
    bytes: &'a [u8],
    digests: &'a [Digest],
    answers: &'a mut [bool],
}

/// How many lookups are done before those among them are that have been put off.
const ROUND: usize = 128;

impl<const R: u32> Job for ContainsBatch<'_, R> {
    type Output = ();

    /// A run that leaves its block would be a branch that is mispredicted and a line that has not been asked for. So these lookups are
    /// put off, without a branch, and done when there are many of them.
    #[inline(always)]
    fn run<L: Lines>(self, lines: L) {
        let Self { layout: whole, bytes, digests, answers } = self;
        let layout = constant::<R>(whole);
        let mut ring = Ring::new(&layout, bytes, digests);
        let mut put_off = [0_usize; ROUND];
        let mut start = 0;
        while start < digests.len() {
            let end = digests.len().min(start + ROUND);
            let mut waiting = 0;
            for (i, answer) in (start..end).zip(&mut answers[start..end]) {
                let home = ring.take(&layout, bytes, i, digests);
                let Probe { found, leaves } = layout.probe(lines, bytes, home);
                *answer = found;
                // At most ROUND - 1 have been put off before this one.
                put_off[waiting % ROUND] = i;
                waiting += usize::from(leaves);
                // The next line is asked for where it is needed, this one again where not.
                let further = select_unpredictable(leaves, layout.shape.bytes as usize, 0);
                prefetch_read(bytes, layout.base(home.place.block).wrapping_add(further));
            }
            for &i in &put_off[..waiting] {
                answers[i] = contains_next(layout, whole, lines, bytes, layout.home(digests[i]));
            }
            start = end;
        }
    }
}

struct Insert<'a, const R: u32> {
    layout: &'a RankSelect,
    bytes: &'a mut [u8],
    digest: Digest,
}

impl<const R: u32> Job for Insert<'_, R> {
    type Output = u64;

    #[inline(always)]
    fn run<L: Lines>(self, lines: L) -> u64 {
        let layout = constant::<R>(self.layout);
        layout.insert_record(self.layout, lines, self.bytes, layout.home(self.digest))
    }
}

struct InsertBatch<'a, const R: u32> {
    layout: &'a RankSelect,
    bytes: &'a mut [u8],
    digests: &'a [Digest],
}

impl<const R: u32> Job for InsertBatch<'_, R> {
    type Output = u64;

    #[inline(always)]
    fn run<L: Lines>(self, lines: L) -> u64 {
        let Self { layout: whole, bytes, digests } = self;
        let layout = constant::<R>(whole);
        let mut ring = Ring::new(&layout, bytes, digests);
        let mut moved = 0;
        for i in 0..digests.len() {
            let home = ring.take(&layout, bytes, i, digests);
            moved = layout.insert_record(whole, lines, bytes, home);
        }
        moved
    }
}

struct Remove<'a, const R: u32> {
    layout: &'a RankSelect,
    bytes: &'a mut [u8],
    digest: Digest,
}

impl<const R: u32> Job for Remove<'_, R> {
    type Output = bool;

    #[inline(always)]
    fn run<L: Lines>(self, lines: L) -> bool {
        let layout = constant::<R>(self.layout);
        layout.remove_record(self.layout, lines, self.bytes, layout.home(self.digest))
    }
}

struct RemoveBatch<'a, const R: u32> {
    layout: &'a RankSelect,
    bytes: &'a mut [u8],
    digests: &'a [Digest],
}

impl<const R: u32> Job for RemoveBatch<'_, R> {
    type Output = u64;

    #[inline(always)]
    fn run<L: Lines>(self, lines: L) -> u64 {
        let Self { layout: whole, bytes, digests } = self;
        let layout = constant::<R>(whole);
        let mut ring = Ring::new(&layout, bytes, digests);
        let mut removed = 0;
        for i in 0..digests.len() {
            let home = ring.take(&layout, bytes, i, digests);
            removed += u64::from(layout.remove_record(whole, lines, bytes, home));
        }
        removed
    }
}

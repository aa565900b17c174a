//! The operations as jobs: compiled once for each way to handle lines and, where it pays, with r as a constant.

use amq::Digest;
use amq_bits::line::{Job, Lines, dispatch};
use amq_bits::prefetch::{prefetch_read, prefetch_stream};

use super::lookup::Probe;
use super::place::Place;
use super::{Home, RankSelect};
use crate::layout::LOOK_AHEAD;

/// Any r, not known to the compiler.
const ANY: u32 = 0;

/// Dispatches a job for the layout's r: as a constant where lookups are to be fastest.
macro_rules! for_r {
    ($layout:expr, $job:ident $(of $edit:ident)? { $($field:ident: $value:expr),* $(,)? }) => {
        match $layout.shape.r {
            8 => dispatch($job::<$($edit,)? 8> { layout: $layout, $($field: $value),* }),
            12 => dispatch($job::<$($edit,)? 12> { layout: $layout, $($field: $value),* }),
            16 => dispatch($job::<$($edit,)? 16> { layout: $layout, $($field: $value),* }),
            _ => dispatch($job::<$($edit,)? ANY> { layout: $layout, $($field: $value),* }),
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
    for_r!(layout, EditOne of Inserting { bytes: bytes, digest: digest, edit: Inserting })
}

pub(super) fn insert_batch(layout: &RankSelect, bytes: &mut [u8], digests: &[Digest]) -> u64 {
    for_r!(layout, EditBatch of Inserting { bytes: bytes, digests: digests, edit: Inserting })
}

#[inline]
pub(super) fn remove(layout: &RankSelect, bytes: &mut [u8], digest: Digest) -> bool {
    for_r!(layout, EditOne of Removing { bytes: bytes, digest: digest, edit: Removing }) != 0
}

pub(super) fn remove_batch(layout: &RankSelect, bytes: &mut [u8], digests: &[Digest]) -> u64 {
    for_r!(layout, EditBatch of Removing { bytes: bytes, digests: digests, edit: Removing })
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
    /// Block and slot, which is below 64, in one number.
    places: [u64; Self::LEN],
    remainders: [u64; Self::LEN],
}

impl Ring {
    /// More than are ahead: a home is put down before the one that is due is taken.
    const LEN: usize = (LOOK_AHEAD + 1).next_power_of_two();

    /// The first few homes, whose memory is asked for.
    #[inline(always)]
    fn new(layout: &RankSelect, bytes: &[u8], digests: &[Digest]) -> Self {
        let mut ring = Self { places: [0; Self::LEN], remainders: [0; Self::LEN] };
        for (i, &digest) in digests.iter().take(LOOK_AHEAD).enumerate() {
            ring.put(layout, bytes, i, digest);
        }
        ring
    }

    #[inline(always)]
    fn put(&mut self, layout: &RankSelect, bytes: &[u8], i: usize, digest: Digest) {
        let Home { place, remainder } = layout.home(digest);
        prefetch_read(bytes, layout.base(place.block));
        self.places[i % Self::LEN] = place.block << 6 | u64::from(place.slot);
        self.remainders[i % Self::LEN] = remainder;
    }

    /// The home of digest `i`, having asked for the memory of a later one.
    #[inline(always)]
    fn take(&mut self, layout: &RankSelect, bytes: &[u8], i: usize, digests: &[Digest]) -> Home {
        prefetch_stream(digests, i + LOOK_AHEAD);
        if let Some(&later) = digests.get(i + LOOK_AHEAD) {
            self.put(layout, bytes, i + LOOK_AHEAD, later);
        }
        let place = self.places[i % Self::LEN];
        let place = Place { block: place >> 6, slot: (place & 63) as u32 };
        Home { place, remainder: self.remainders[i % Self::LEN] }
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
                let further = layout.shape.bytes as usize * usize::from(leaves);
                prefetch_read(bytes, layout.base(home.place.block).wrapping_add(further));
            }
            for &i in &put_off[..waiting] {
                answers[i] = contains_next(layout, whole, lines, bytes, layout.home(digests[i]));
            }
            start = end;
        }
    }
}

/// What is done with a record, in the block of its home or beyond.
trait Edit: Copy {
    /// Does it, unless that leaves the block of the home: then nothing, and `None`.
    fn here<L: Lines>(self, layout: &RankSelect, lines: L, bytes: &mut [u8], home: Home) -> Option<u64>;

    /// Does it where it leaves the block of the home.
    fn across<L: Lines>(self, layout: &RankSelect, lines: L, bytes: &mut [u8], home: Home) -> u64;

    /// What a batch returns, from what it would so far and what its next edit did.
    fn sum_up(self, before: u64, this: u64) -> u64;
}

/// Adds a record. Tells how many others moved, in a batch for the last one.
#[derive(Clone, Copy)]
struct Inserting;

impl Edit for Inserting {
    #[inline(always)]
    fn here<L: Lines>(self, layout: &RankSelect, lines: L, bytes: &mut [u8], home: Home) -> Option<u64> {
        layout.insert_here(lines, bytes, home).map(u64::from)
    }

    #[inline(always)]
    fn across<L: Lines>(self, layout: &RankSelect, lines: L, bytes: &mut [u8], home: Home) -> u64 {
        layout.insert_across(lines, bytes, home)
    }

    #[inline(always)]
    fn sum_up(self, _: u64, this: u64) -> u64 {
        this
    }
}

/// Takes a record out. Tells how many that were, one or none, in a batch for all together.
#[derive(Clone, Copy)]
struct Removing;

impl Edit for Removing {
    #[inline(always)]
    fn here<L: Lines>(self, layout: &RankSelect, lines: L, bytes: &mut [u8], home: Home) -> Option<u64> {
        layout.remove_here(lines, bytes, home).map(u64::from)
    }

    #[inline(always)]
    fn across<L: Lines>(self, layout: &RankSelect, lines: L, bytes: &mut [u8], home: Home) -> u64 {
        layout.remove_across(lines, bytes, home).into()
    }

    #[inline(always)]
    fn sum_up(self, before: u64, this: u64) -> u64 {
        before + this
    }
}

/// [`Edit::across`] in a function of its own, as with lookups.
#[inline(never)]
fn edit_across<E: Edit, L: Lines, const R: u32>(
    whole: &RankSelect,
    lines: L,
    bytes: &mut [u8],
    home: Home,
    edit: E,
) -> u64 {
    lines.run(
        #[inline(always)]
        || edit.across(&constant::<R>(whole), lines, bytes, home),
    )
}

struct EditOne<'a, E, const R: u32> {
    layout: &'a RankSelect,
    bytes: &'a mut [u8],
    digest: Digest,
    edit: E,
}

impl<E: Edit, const R: u32> Job for EditOne<'_, E, R> {
    type Output = u64;

    #[inline(always)]
    fn run<L: Lines>(self, lines: L) -> u64 {
        let Self { layout: whole, bytes, digest, edit } = self;
        let layout = constant::<R>(whole);
        let home = layout.home(digest);
        edit.here(&layout, lines, bytes, home)
            .unwrap_or_else(|| edit_across::<E, L, R>(whole, lines, bytes, home, edit))
    }
}

struct EditBatch<'a, E, const R: u32> {
    layout: &'a RankSelect,
    bytes: &'a mut [u8],
    digests: &'a [Digest],
    edit: E,
}

impl<E: Edit, const R: u32> Job for EditBatch<'_, E, R> {
    type Output = u64;

    #[inline(always)]
    fn run<L: Lines>(self, lines: L) -> u64 {
        let Self { layout: whole, bytes, digests, edit } = self;
        let layout = constant::<R>(whole);
        let mut ring = Ring::new(&layout, bytes, digests);
        let mut sum = 0;
        for i in 0..digests.len() {
            let home = ring.take(&layout, bytes, i, digests);
            let this = edit
                .here(&layout, lines, bytes, home)
                .unwrap_or_else(|| edit_across::<E, L, R>(whole, lines, bytes, home, edit));
            sum = edit.sum_up(sum, this);
        }
        sum
    }
}

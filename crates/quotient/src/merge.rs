//! The loops that combine two sorted slices.
//!
//! Which of two streams comes next is a coin toss: as a branch it is mispredicted half the time; as the step of an index it costs
//! nothing.

use crate::sorted::Combine;

/// What has been read of two slices, and written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) left: usize,
    pub(crate) right: usize,
    pub(crate) written: usize,
}

impl Step {
    pub(crate) const fn swapped(self) -> Self {
        Self { left: self.right, right: self.left, written: self.written }
    }
}

/// Combines from the start of two slices as far as both of them and the room for the result reach.
///
/// One fingerprint of each side is matched with one of the other: so the multiplicities come out by themselves.
pub(crate) fn combine(left: &[u64], right: &[u64], room: &mut [u64], how: Combine) -> Step {
    match how {
        Combine::Sum => sum(left, right, room),
        Combine::Union => each(left, right, room, |a, b| Choice { takes: [a <= b, b <= a], gives: true }),
        Combine::Intersection => {
            each(left, right, room, |a, b| Choice { takes: [a <= b, b <= a], gives: a == b })
        }
        Combine::Difference => {
            each(left, right, room, |a, b| Choice { takes: [a <= b, b <= a], gives: a < b })
        }
    }
}

/// As many of both sides as the room is sure to hold, from both ends at once: two chains of comparisons that do not wait for each
/// other.
fn sum(left: &[u64], right: &[u64], room: &mut [u64]) -> Step {
    let half = room.len() / 2;
    let (mut left, mut right) = (&left[..left.len().min(half)], &right[..right.len().min(half)]);
    // What is larger than all of the other side has to wait for what comes there next.
    let (Some(&last_left), Some(&last_right)) = (left.last(), right.last()) else { return Step::default() };
    if last_left <= last_right {
        right = &right[..right.partition_point(|&fingerprint| fingerprint <= last_left)];
    } else {
        left = &left[..left.partition_point(|&fingerprint| fingerprint <= last_right)];
    }
    let (mut i, mut j, mut left_end, mut right_end) = (0, 0, left.len(), right.len());
    let written = left_end + right_end;
    let room = &mut room[..written];
    let (mut low, mut high) = (0, written);
    while i < left_end && j < right_end {
        let (a, b) = (left[i], right[j]);
        room[low] = a.min(b);
        low += 1;
        i += usize::from(a <= b);
        j += usize::from(a > b);
        if i >= left_end || j >= right_end {
            break;
        }
        let (a, b) = (left[left_end - 1], right[right_end - 1]);
        high -= 1;
        room[high] = a.max(b);
        left_end -= usize::from(a > b);
        right_end -= usize::from(a <= b);
    }
    // One side alone, or none.
    let (left_rest, right_rest) = (&left[i..left_end], &right[j..right_end]);
    room[low..low + left_rest.len()].copy_from_slice(left_rest);
    room[low + left_rest.len()..high].copy_from_slice(right_rest);
    Step { left: left.len(), right: right.len(), written }
}

/// One side, where the other one has ended, if it counts.
pub(crate) fn alone(slice: &[u64], room: &mut [u64], counts: bool) -> Step {
    if !counts {
        return Step { left: slice.len(), right: 0, written: 0 };
    }
    let len = slice.len().min(room.len());
    room[..len].copy_from_slice(&slice[..len]);
    Step { left: len, right: 0, written: len }
}

/// Which of two fingerprints are taken, and whether the smaller is part of the result.
struct Choice {
    takes: [bool; 2],
    gives: bool,
}

#[inline(always)]
#[allow(clippy::inline_always, reason = "one loop for each choice")]
fn each(left: &[u64], right: &[u64], room: &mut [u64], choose: impl Fn(u64, u64) -> Choice) -> Step {
    let mut step = Step::default();
    while step.left < left.len() && step.right < right.len() && step.written < room.len() {
        let (a, b) = (left[step.left], right[step.right]);
        let Choice { takes, gives } = choose(a, b);
        room[step.written] = a.min(b);
        step.left += usize::from(takes[0]);
        step.right += usize::from(takes[1]);
        step.written += usize::from(gives);
    }
    step
}

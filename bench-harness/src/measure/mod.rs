//! What measuring processes do with a filter: verify it ([`verify`], [`fpr`], [`space`]), then time it ([`time`]) beside the
//! floors of the machine ([`floors`]) and a [`sentinel`].

pub mod clock;
pub mod floors;
pub mod fpr;
pub mod sentinel;
pub mod space;
pub mod time;
pub mod verify;

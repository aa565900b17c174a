//! What measuring processes do with a filter: verify it ([`verify`], [`fpr`], [`space`]), then time it ([`time`]) beside the
//! floors of the machine ([`floors`]).

pub mod clock;
pub mod floors;
pub mod fpr;
pub mod space;
pub mod time;
pub mod verify;

//! The report, from stored results to a page in a browser.

mod browser;
mod devtools;
mod page;
mod studies;
mod synthetic;

//! Every interleaving, and every value that the memory model lets a relaxed read see, of two threads in small filters:
//! `scripts/loom`.
#![cfg(loom)]

use amq::{Amq, Digest, SharedInsert};
use amq_bloom::{BitPlaces, BlockLayout, Layout, SharedFilter, Spread};
use loom::sync::Arc;
use loom::thread;

/// Two digests whose bits share bytes, in any order of operations: none of them is lost after the threads are joined, and
/// each thread sees its own at once.
fn two_writers<P: BitPlaces>(layout: P) {
    loom::model(move || {
        let filter = Arc::new(SharedFilter::with_layout(layout, 0).unwrap());
        let digests = [Digest::new(0x0123_4567_89AB_CDEF), Digest::new(0xFEDC_BA98_7654_3210)];
        let writers = digests.map(|digest| {
            let filter = Arc::clone(&filter);
            thread::spawn(move || {
                filter.insert_shared(digest).unwrap();
                assert!(filter.contains(digest));
            })
        });
        for writer in writers {
            writer.join().unwrap();
        }
        assert!(digests.iter().all(|&digest| filter.contains(digest)));
    });
}

/// A reader at the same time may see the key or not, but a later lookup of the same reader does not forget it.
fn a_reader_never_forgets<P: BitPlaces>(layout: P) {
    loom::model(move || {
        let filter = Arc::new(SharedFilter::with_layout(layout, 0).unwrap());
        let digest = Digest::new(0x0123_4567_89AB_CDEF);
        let writer = {
            let filter = Arc::clone(&filter);
            thread::spawn(move || filter.insert_shared(digest).unwrap())
        };
        let before = filter.contains(digest);
        let after = filter.contains(digest);
        assert!(after || !before);
        writer.join().unwrap();
        assert!(filter.contains(digest));
    });
}

/// Both threads insert the same key: the one that only reads that the bits are set has inserted it all the same.
fn the_same_key_twice<P: BitPlaces>(layout: P) {
    loom::model(move || {
        let filter = Arc::new(SharedFilter::with_layout(layout, 0).unwrap());
        let digest = Digest::new(0x0123_4567_89AB_CDEF);
        let other = {
            let filter = Arc::clone(&filter);
            thread::spawn(move || {
                filter.insert_shared(digest).unwrap();
                assert!(filter.contains(digest));
            })
        };
        filter.insert_shared(digest).unwrap();
        assert!(filter.contains(digest));
        other.join().unwrap();
    });
}

#[test]
fn two_writers_lose_nothing() {
    two_writers(Layout::new(8, 2).unwrap());
    two_writers(Layout::new(16, 3).unwrap());
    two_writers(BlockLayout::<Spread>::new(1, 2).unwrap());
}

#[test]
fn readers_never_forget() {
    a_reader_never_forgets(Layout::new(8, 2).unwrap());
    a_reader_never_forgets(BlockLayout::<Spread>::new(1, 2).unwrap());
}

#[test]
fn a_key_inserted_twice_is_there() {
    the_same_key_twice(Layout::new(8, 2).unwrap());
    the_same_key_twice(BlockLayout::<Spread>::new(1, 2).unwrap());
}

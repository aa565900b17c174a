//! What the suite has to know of the bytes of a table with three state bits.

/// Bytes of a table of eight slots with r = 3: three words, 64 remainders, and padding.
pub(crate) const EIGHT_SLOTS: usize = 24 + 24 + 7;

/// (byte, bits) of padding in it: an O, a C, an S and a remainder bit behind the last slot, and a bit behind the block.
pub(crate) const PADDING: [(usize, u8); 5] = [(1, 1), (9, 1), (16 + 7, 128), (27, 1), (54, 1)];

/// All tables of up to seven slots with r = 1, damaged ones included.
pub(crate) fn candidates(slots: u64) -> impl Iterator<Item = Vec<u8>> {
    (0..1_u64 << (4 * slots)).map(move |pattern| {
        let mut bytes = vec![0; 24 + 8 + 7];
        for (field, at) in [0, 8, 16, 24].into_iter().enumerate() {
            let bits = pattern >> (field as u64 * slots) & ((1 << slots) - 1);
            bytes[at] = u8::try_from(bits).unwrap();
        }
        bytes
    })
}

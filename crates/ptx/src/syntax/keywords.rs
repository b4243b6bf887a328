//! A hash map from a fixed set of short names to their index, built at compile time.

/// Open-addressed table of `SLOTS` entries, a power of two well above the number of names.
pub(crate) struct KeywordMap<const SLOTS: usize> {
    /// Index of the name plus one; 0 is empty.
    slots: [u16; SLOTS],
    names: &'static [&'static str],
}

impl<const SLOTS: usize> KeywordMap<SLOTS> {
    /// The map of the first `len` names.
    pub(crate) const fn new(names: &'static [&'static str], len: usize) -> Self {
        assert!(SLOTS.is_power_of_two() && len < SLOTS);
        let mut slots = [0u16; SLOTS];
        let mut index = 0;
        while index < len {
            let mut slot = hash(names[index].as_bytes()) as usize & (SLOTS - 1);
            while slots[slot] != 0 {
                slot = (slot + 1) & (SLOTS - 1);
            }
            slots[slot] = index as u16 + 1;
            index += 1;
        }
        Self { slots, names }
    }

    /// Index of `name`.
    pub(crate) fn get(&self, name: &[u8]) -> Option<u16> {
        let mut slot = hash(name) as usize & (SLOTS - 1);
        loop {
            match self.slots[slot] {
                0 => return None,
                entry if self.names[usize::from(entry) - 1].as_bytes() == name => return Some(entry - 1),
                _ => slot = (slot + 1) & (SLOTS - 1),
            }
        }
    }
}

/// Mixes the length, the first eight bytes and the last eight: names of the language differ in those.
const fn hash(name: &[u8]) -> u32 {
    let len = name.len();
    let (mut head, mut tail) = (0u64, 0u64);
    let mut at = 0;
    while at < 8 && at < len {
        head |= (name[at] as u64) << (8 * at);
        tail |= (name[len - 1 - at] as u64) << (8 * at);
        at += 1;
    }
    let mixed = (head ^ tail.rotate_left(23)).wrapping_add(len as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 40) as u32
}

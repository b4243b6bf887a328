//! Inputs: special values first, then numbers of all exponents from a fixed pseudo-random sequence.

/// A 64-bit linear congruential sequence with an output permutation.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let x = self.0 ^ (self.0 >> 33);
        x.wrapping_mul(0xff51_afd7_ed55_8ccd) ^ (x >> 29)
    }

    /// A number between 0 and `limit` - 1.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        ((self.next() >> 32) * limit) >> 32
    }
}

pub(crate) const SPECIAL_F32: [u32; 26] = [
    0x0000_0000,
    0x8000_0000,
    0x3f80_0000,
    0xbf80_0000,
    0x0000_0001,
    0x8000_0001,
    0x0000_0002,
    0x007f_ffff,
    0x807f_ffff,
    0x0080_0000,
    0x8080_0000,
    0x0080_0001,
    0x00ff_ffff,
    0x7f7f_ffff,
    0xff7f_ffff,
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0000,
    0xffc1_2345,
    0x7f80_0001,
    0x3f00_0000,
    0x3f7f_ffff,
    0x3f80_0001,
    0x4b80_0000,
    0x7e80_0001,
    0x3400_0000,
];

pub(crate) const SPECIAL_F64: [u64; 22] = [
    0,
    1 << 63,
    0x3ff0_0000_0000_0000,
    0xbff0_0000_0000_0000,
    1,
    1 << 63 | 1,
    2,
    0x000f_ffff_ffff_ffff,
    0x0010_0000_0000_0000,
    0x8010_0000_0000_0000,
    0x0010_0000_0000_0001,
    0x001f_ffff_ffff_ffff,
    0x7fef_ffff_ffff_ffff,
    0xffef_ffff_ffff_ffff,
    0x7ff0_0000_0000_0000,
    0xfff0_0000_0000_0000,
    0x7ff8_0000_0000_0000,
    0x7ff0_0000_0000_0001,
    0x3fef_ffff_ffff_ffff,
    0x3ff0_0000_0000_0001,
    0x3ca0_0000_0000_0000,
    0x4340_0000_0000_0000,
];

/// Random f32 bits; half of them have short significands, and exponents of a tuple lie near each other often enough for
/// ties and cancellation.
pub(crate) fn tuples_f32<const N: usize>(seed: u64, count: usize) -> Vec<[u32; N]> {
    let mut random = Random::new(seed);
    let mut tuples: Vec<[u32; N]> = Vec::new();
    for _ in 0..count {
        let center = random.below(255);
        let spread = [2, 30, 300][random.below(3) as usize];
        tuples.push(std::array::from_fn(|_| {
            if random.below(12) == 0 {
                return SPECIAL_F32[random.below(SPECIAL_F32.len() as u64) as usize];
            }
            let exponent = (center + random.below(2 * spread)).saturating_sub(spread).min(255) as u32;
            let fraction = random.next() as u32 & 0x7f_ffff;
            let kept = [0x7f_ffff, 0x7f_f000, 0x78_0000, 0x00_0003][random.below(4) as usize];
            (random.next() as u32 & 0x8000_0000) | exponent << 23 | fraction & kept
        }));
    }
    tuples
}

/// All pairs of special values, then random pairs.
pub(crate) fn pairs_f32(seed: u64, count: usize) -> Vec<[u32; 2]> {
    let special = SPECIAL_F32.iter().flat_map(|&a| SPECIAL_F32.iter().map(move |&b| [a, b]));
    special.chain(tuples_f32(seed, count)).collect()
}

pub(crate) fn tuples_f64<const N: usize>(seed: u64, count: usize) -> Vec<[u64; N]> {
    let mut random = Random::new(seed);
    let mut tuples: Vec<[u64; N]> = Vec::new();
    for _ in 0..count {
        let center = random.below(2047);
        let spread = [2, 60, 2100][random.below(3) as usize];
        tuples.push(std::array::from_fn(|_| {
            if random.below(12) == 0 {
                return SPECIAL_F64[random.below(SPECIAL_F64.len() as u64) as usize];
            }
            let exponent = (center + random.below(2 * spread)).saturating_sub(spread).min(2047);
            let kept = [u64::MAX >> 12, 0xf_ffff_ff00_0000, 0xf_0000_0000_0000, 3][random.below(4) as usize];
            (random.next() & 1 << 63) | exponent << 52 | random.next() & kept
        }));
    }
    tuples
}

pub(crate) fn pairs_f64(seed: u64, count: usize) -> Vec<[u64; 2]> {
    let special = SPECIAL_F64.iter().flat_map(|&a| SPECIAL_F64.iter().map(move |&b| [a, b]));
    special.chain(tuples_f64(seed, count)).collect()
}

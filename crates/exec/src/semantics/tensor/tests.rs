//! Products of matrices whose bits tell generations of tensor cores apart.

use warplens_isa::MatrixShape;

use super::MatrixType as M;
use super::TensorCores as C;
use super::*;

/// Element (0, 0) of the result, where the first row of a and the first column of b hold these and zeros.
fn first(cores: C, types: [M; 4], k: u16, c: u64, products: &[(usize, u64, u64)], satfinite: bool) -> u64 {
    let m = if types[1] == M::F64 { 8 } else { 16 };
    let product = MatrixProduct { satfinite, ..MatrixProduct::new(MatrixShape { m, n: 8, k }, types) };
    let [_, n_a, n_b, n_c] = product.registers();
    let [_, a_type, b_type, _] = types;
    let mut fragments = vec![[0; LANES]; n_a + n_b + n_c];
    let mut set = |at: usize, place: layout::Place, value: u64, ty: M| {
        fragments[at + place.register][place.lane] |= value << (place.element as u32 * ty.bits() % 64);
    };
    for &(at, a, b) in products {
        set(0, layout::factor(m.into(), a_type, 0, at), a, a_type);
        set(n_a, layout::factor(8, b_type, 0, at), b, b_type);
    }
    set(n_a + n_b, layout::accumulator(types[3], 0, 0), c, types[3]);
    let d = cores.product(&product, &fragments);
    get(&d, types[0], layout::accumulator(types[0], 0, 0))
}

const HALF: [M; 4] = [M::F32, M::F16, M::F16, M::F32];
const HALVES: [M; 4] = [M::F16; 4];
const BRAIN: [M; 4] = [M::F32, M::Bf16, M::Bf16, M::F32];
const TF32: [M; 4] = [M::F32, M::Tf32, M::Tf32, M::F32];

/// Volta; Turing; Ampere and Ada; Hopper and later.
const GROUPS: [&[C]; 4] =
    [&[C::Volta], &[C::Turing], &[C::Ampere, C::Ada], &[C::Hopper, C::Blackwell, C::RtxBlackwell]];

type Row<'r> = ([M; 4], u64, &'r [(usize, u64, u64)], [Option<u64>; 4]);

fn holds(rows: &[Row<'_>], k: impl Fn(usize, [M; 4]) -> u16) {
    for (number, (types, c, products, expected)) in rows.iter().enumerate() {
        for (group, expected) in expected.iter().enumerate() {
            for &cores in GROUPS[group] {
                let Some(expected) = *expected else { continue };
                let result = first(cores, *types, k(group, *types), *c, products, false);
                assert_eq!(result, expected, "row {number}: {result:08x}, not {expected:08x}, {cores:?}");
            }
        }
    }
}

const ONE: u64 = 0x3f80_0000;

const fn all(value: u64) -> [Option<u64>; 4] {
    [Some(value); 4]
}

const fn from_turing(volta: u64, turing: u64) -> [Option<u64>; 4] {
    [Some(volta), Some(turing), Some(turing), Some(turing)]
}

const fn from_hopper(before: u64, hopper: u64) -> [Option<u64>; 4] {
    [Some(before), Some(before), Some(before), Some(hopper)]
}

/// Outputs of a model of the hardware (MMA-Sim), each chosen for one rule.
const ROWS_OF_F16: &[Row<'static>] = &[
    (HALF, ONE, &[(0, 1, 0x3c00), (1, 1, 0x3c00)], from_turing(ONE, ONE + 1)),
    (HALF, ONE, &[(0, 1, 0x3800), (1, 1, 0x3800), (2, 1, 0x3800), (3, 1, 0x3800)], from_hopper(ONE, ONE + 1)),
    (HALF, ONE, &[(0, 1, 0x3e00)], all(ONE)),
    (HALF, 0xbf80_0000, &[(0, 1, 0xbe00)], all(0xbf80_0000)),
    (
        HALF,
        0x4b80_0000,
        &[(0, 0x6c00, 0xec00), (1, 0x3e00, 0x3c00)],
        [Some(0), Some(ONE), Some(ONE), Some(0x3fc0_0000)],
    ),
    (
        HALF,
        0x3380_0000,
        &[(0, 0x3e00, 0x3e00), (1, 1, 0x3c00), (2, 1, 0x3c00), (3, 1, 0x3c00)],
        from_turing(0x4010_0000, 0x4010_0001),
    ),
    (HALF, 0x4b80_0000, &[(0, 0x3c00, 0x3c00), (1, 0x6c00, 0xec00)], from_turing(0, ONE)),
    (HALVES, 0x3c00, &[(0, 0x1000, 0x3c00), (1, 1, 0x3c00)], from_turing(0x3c00, 0x3c01)),
    (HALVES, 0x7bff, &[(0, 0x4c00, 0x3c00)], all(0x7c00)),
    (HALVES, 0x7bff, &[(0, 0x4b80, 0x3c00)], all(0x7bff)),
    (HALF, ONE, &[(0, 0x7c00, 0)], all(0x7fff_ffff)),
    (HALVES, 0x3c00, &[(0, 0x7c00, 0)], all(0x7fff)),
    (HALF, 0x8000_0000, &[(0, 0x8000, 0x3c00)], all(0)),
    (HALF, 0, &[(0, 1, 1)], all(0x2780_0000)),
];

#[test]
fn f16_is_summed_as_each_generation_does() {
    holds(ROWS_OF_F16, |group, _| if group < 2 { 8 } else { 16 });
    // A depth of 16 is two blocks before Hopper.
    let halves: &[Row<'_>] =
        &[(HALF, 0x4b80_0000, &[(0, 0x3c00, 0x3c00), (8, 0x6c00, 0xec00)], [None, None, Some(0), Some(ONE)])];
    holds(halves, |_, _| 16);
}

/// The first tensor cores have products by quads alone.
#[test]
fn f16_by_quads_is_summed_as_the_first_tensor_cores_do() {
    for (number, (types, c, products, expected)) in ROWS_OF_F16.iter().enumerate() {
        for (cores, expected) in [C::Volta, C::Turing].into_iter().zip(expected) {
            let result = first_by_quads(cores, *types, *c, products);
            assert_eq!(Some(result), *expected, "row {number}: {result:08x}, {cores:?}");
        }
    }
}

/// Element (0, 0) of the first of four products. Lane 0 holds row 0 of a, column 0 of b and element (0, 0) of the sums first.
fn first_by_quads(cores: C, types: [M; 4], c: u64, products: &[(usize, u64, u64)]) -> u64 {
    let product = MatrixProduct::new(MatrixShape { m: 8, n: 8, k: 4 }, types);
    let [_, n_a, n_b, n_c] = product.registers();
    let mut fragments = vec![[0; LANES]; n_a + n_b + n_c];
    for &(at, a, b) in products {
        fragments[at / 2][0] |= a << (16 * (at % 2));
        fragments[n_a + at / 2][0] |= b << (16 * (at % 2));
    }
    fragments[n_a + n_b][0] = c;
    cores.product(&product, &fragments)[0][0] & if types[0] == M::F16 { 0xffff } else { u64::MAX }
}

#[test]
fn bf16_tf32_and_f64_are_summed_as_each_generation_does() {
    let one = 0x3f80_0000;
    let from_ampere = |value: u64| [None, None, Some(value), Some(value)];
    let rows: &[Row<'_>] = &[
        (BRAIN, 0, &[(0, 0x1a00, 0x1a80)], from_ampere(1)),
        (BRAIN, 0x7f7f_ffff, &[(0, 0x7f00, 0x3f80)], from_ampere(0x7f80_0000)),
        (TF32, 0, &[(0, 0x3f80_1fff, one)], from_ampere(one)),
        (TF32, 0, &[(0, 0x3f80_3fff, one)], from_ampere(0x3f80_2000)),
        (TF32, 0x4b80_0000, &[(0, one, one), (4, 0x4b80_0000, 0xbf80_0000)], [None, None, Some(0), Some(one)]),
    ];
    holds(rows, |_, types| if types == TF32 { 8 } else { 16 });
    let (one, tiny) = (0x3ff0_0000_0000_0000, 0x3ca0_0000_0000_0000);
    for cores in [C::Ampere, C::Hopper] {
        assert_eq!(first(cores, [M::F64; 4], 4, one, &[(0, tiny, one), (1, tiny, one)], false), one);
    }
}

/// Types, the accumulator, the products by place in the row, and the sums of Ada, of Hopper and of the RTX Blackwell.
type Sums<'a> = ([M; 4], u64, &'a [(usize, u64, u64)], [u64; 3]);

#[test]
fn fp8_is_summed_as_each_generation_does() {
    let e4m3 = [M::F32, M::E4m3, M::E4m3, M::F32];
    let e5m2 = [M::F32, M::E5m2, M::E5m2, M::F32];
    let one = 0x3f80_0000;
    let rows: &[Sums] = &[
        (e4m3, one, &[(0, 4, 4), (1, 4, 4)], [one, 0x3f80_0400, 0x3f80_0400]),
        (e4m3, 0x3f80_03ff, &[], [one, 0x3f80_03ff, 0x3f80_03ff]),
        (e5m2, one, &[(0, 0x0c, 0x0c), (1, 0x0c, 0x08)], [one, one + 1, one]),
        (e4m3, 0x4780_0000, &[(0, 0x38, 0x38), (16, 0x78, 0xf8)], [0, one, one]),
    ];
    let groups: [&[C]; 3] = [&[C::Ada], &[C::Hopper, C::Blackwell], &[C::RtxBlackwell]];
    for (number, (types, c, products, expected)) in rows.iter().enumerate() {
        for (group, &expected) in groups.iter().zip(expected) {
            for &cores in *group {
                let result = first(cores, *types, 32, *c, products, false);
                assert_eq!(result, expected, "row {number}: {result:08x}, not {expected:08x}, {cores:?}");
            }
        }
    }
}

#[test]
fn integers_wrap_or_are_clamped() {
    let types = [M::S32, M::S8, M::S8, M::S32];
    for (satfinite, expected) in [(false, 0x8000_0000), (true, 0x7fff_ffff)] {
        assert_eq!(first(C::Ampere, types, 32, 0x7fff_ffff, &[(0, 1, 1)], satfinite), expected);
    }
    assert_eq!(first(C::Ampere, types, 32, 0, &[(3, 0xff, 2), (31, 0x80, 0x80)], false), 16382);
    assert_eq!(
        first(C::Ampere, [M::S32, M::S4, M::U4, M::S32], 64, 0, &[(63, 0x8, 0xf)], false),
        -120i32 as u32 as u64
    );
}

/// Products of four warps on Hopper: those of f16 and tf32 as of one warp, those of fp8 with a unit of their own.
#[test]
fn groups_of_warps_sum_as_hopper_does() {
    let one = ONE;
    let of_one_warp =
        ROWS_OF_F16.iter().filter_map(|&(types, c, products, [.., hopper])| Some((types, c, products, hopper?)));
    let of = |ty: M| [M::F32, ty, ty, M::F32];
    let rows: &[GroupRow<'_>] = &[
        (of(M::F16), 0x4b80_0000, &[(0, 0x3c00, 0x3c00), (8, 0x6c00, 0xec00)], one),
        (of(M::Bf16), 0, &[(0, 0x1a00, 0x1a80)], 1),
        (of(M::Bf16), 0x7f7f_ffff, &[(0, 0x7f00, 0x3f80)], 0x7f80_0000),
        (of(M::Tf32), 0x4b80_0000, &[(0, one, one), (4, 0x4b80_0000, 0xbf80_0000)], one),
        (of(M::E4m3), one, &[(0, 4, 4), (1, 4, 4)], one),
        (of(M::E4m3), 0x3f80_03ff, &[], one),
        (of(M::E5m2), one, &[(0, 0x0c, 0x0c), (1, 0x0c, 0x08)], one),
        (of(M::E4m3), 0x4780_0000, &[(0, 0x38, 0x38), (16, 0x78, 0xf8)], 0),
    ];
    for (number, (types, c, products, expected)) in of_one_warp.chain(rows.iter().copied()).enumerate() {
        let [d_type, a_type, b_type, _] = types;
        let bits = a_type.bits();
        let k = (256 / bits) as usize;
        let line = |at: usize, ty: M, value: fn(&(usize, u64, u64)) -> u64| {
            let mut line = group::Line::default();
            for place in 0..k {
                let found = products.iter().find(|product| at == 0 && product.0 == place);
                line.push_bytes(&found.map_or(0, value).to_le_bytes()[..bits as usize / 8], ty);
            }
            line
        };
        let a: Vec<group::Line> = (0..16).map(|row| line(row, a_type, |product| product.1)).collect();
        let b: Vec<group::Line> = (0..8).map(|column| line(column, b_type, |product| product.2)).collect();
        let shape = MatrixShape { m: 64, n: 8, k: k as u16 };
        let it = warplens_isa::GroupProduct {
            product: MatrixProduct::new(shape, types),
            a_in_shared: true,
            negated: [false; 2],
        };
        let mut accumulators = vec![[0; LANES]; 4 / d_type.per_register()];
        accumulators[0][0] = c;
        let first = |it: &warplens_isa::GroupProduct| {
            let bits = group::product(C::Hopper, it, (&a, &b), &accumulators, None)[0][0];
            bits & u64::MAX >> (64 - d_type.bits())
        };
        assert_eq!(first(&it), expected, "row {number}: {:08x}", first(&it));
        let negated = warplens_isa::GroupProduct { negated: [true, true], ..it };
        assert_eq!(first(&negated), expected, "row {number}");
    }
}

/// Types, the accumulator, the products by place in the row, and the sum.
type GroupRow<'a> = ([M; 4], u64, &'a [(usize, u64, u64)], u64);

/// Products of depth four of the first tensor cores, and of the routine that takes their place.
#[test]
fn products_by_quads_are_summed_as_each_generation_does() {
    let one = 0x3f80_0000;
    // Types, the accumulator, products, and the sums of Volta, Turing and later ones.
    let rows: &[Sums] = &[
        (HALF, one, &[(0, 1, 0x3c00), (1, 1, 0x3c00)], [one, one + 1, one + 1]),
        (HALF, one, &[(0, 1, 0x3800), (1, 1, 0x3800), (2, 1, 0x3800), (3, 1, 0x3800)], [one, one, one + 1]),
        (HALF, one, &[(0, 1, 0x3e00)], [one, one, one + 1]),
        (HALF, 0x4b80_0000, &[(0, 0x6c00, 0xec00), (1, 0x3e00, 0x3c00)], [0, one, 0x4000_0000]),
        // The routine rounds to f32 first.
        (HALVES, 0x3c00, &[(0, 0x1000, 0x3c00), (1, 1, 0x3c00)], [0x3c00, 0x3c01, 0x3c00]),
        (HALF, 0x8000_0000, &[(0, 0x8000, 0x3c00)], [0, 0, 0]),
        (HALF, one, &[(0, 0x7c00, 0)], [0x7fff_ffff, 0x7fff_ffff, 0x7fff_ffff]),
    ];
    let groups: [&[C]; 3] = [&[C::Volta], &[C::Turing], &[C::Ampere, C::Hopper]];
    for (number, (types, c, products, expected)) in rows.iter().enumerate() {
        for (group, &expected) in groups.iter().zip(expected) {
            for &cores in *group {
                let result = first_by_quads(cores, *types, *c, products);
                assert_eq!(result, expected, "row {number}: {result:08x}, not {expected:08x}, {cores:?}");
            }
        }
    }
}

/// Element (0, 0) where row 0 of a holds these elements, of which the metadata say where they stand, and b is the depth plus
/// one in column 0.
fn first_sparse(ty: M, k: u16, held: &[u64], lane: usize, metadata: u64, selector: u8) -> u64 {
    let types = [M::S32, ty, ty, M::S32];
    let sparsity = Some(warplens_isa::Sparsity { selector, ordered: true });
    let product = MatrixProduct { sparsity, ..MatrixProduct::new(MatrixShape { m: 16, n: 8, k }, types) };
    let [_, n_a, n_b, n_c] = product.registers();
    let mut fragments = vec![[0; LANES]; n_a + n_b + n_c + 1];
    let mut set = |at: usize, place: layout::Place, value: u64| {
        fragments[at + place.register][place.lane] |= value << (place.element as u32 * ty.bits());
    };
    for (at, &value) in held.iter().enumerate() {
        set(0, layout::factor(16, ty, 0, at), value);
    }
    for depth in 0..usize::from(k) {
        set(n_a, layout::factor(8, ty, 0, depth), (depth as u64 + 1) % (1 << (ty.bits() - 1)));
    }
    fragments[n_a + n_b + n_c][lane] = metadata;
    get(&C::Hopper.product(&product, &fragments), M::S32, layout::accumulator(M::S32, 0, 0))
}

#[test]
fn metadata_say_where_the_elements_of_a_sparse_matrix_stand() {
    // Groups of four: places 1 and 3, then 0 and 2 (depths 4 and 6).
    assert_eq!(first_sparse(M::S8, 32, &[1, 10, 100, 0], 0, 0x8d, 0), 2 + 40 + 500);
    // The second pair of lanes has them where the selector says so.
    assert_eq!(first_sparse(M::S8, 32, &[1, 10, 100, 0], 2, 0x8d, 1), 2 + 40 + 500);
    // At twice the depth all lanes have some: the third those from depth 32 on.
    let held: Vec<u64> = [0; 16].into_iter().chain([1, 10]).collect();
    assert_eq!(first_sparse(M::S8, 64, &held, 2, 0xd, 0), 34 + 360);
    // Pairs of four bits: pairs 0 and 2 of eight elements.
    assert_eq!(first_sparse(M::U4, 64, &[1, 1, 1, 1], 0, 0x8, 0), 1 + 2 + 5 + 6);
}

/// Numbers that look random.
fn draw(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

/// What the elements of a product are like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Elements {
    /// Mostly of a middling size, at times a zero, tiny, huge or no number.
    Any,
    /// Of all sizes that are summed at once, and some beyond.
    Wide,
    /// Mostly zeros.
    Few,
}

/// The bits of an element.
fn element(ty: M, elements: Elements, state: &mut u64) -> u64 {
    let any = draw(state) << 31 ^ draw(state);
    let bits = match (draw(state) % 64, ty) {
        (number, _) if elements == Elements::Few && number > 7 => any & 1 << (ty.bits() - 1),
        (0, M::Bf16) if elements == Elements::Wide && any >> 20 & 7 == 0 => any & 0x807f | (any >> 24 & 0xff) << 7,
        (_, M::Bf16) if elements == Elements::Wide => any & 0x807f | (127 - 50 + (any >> 24) % 96) << 7,
        (0..8, M::F16) if elements == Elements::Wide => any & 0xbfff,
        (_, M::F16) if elements == Elements::Wide => any & 0x8fff | 0x3000,
        (0, _) if elements == Elements::Any => any,
        (1..=3, _) => any & 1 << (ty.bits() - 1),
        (4, M::F16) => any & 0x83ff,
        (5, M::F16) => any & 0x83ff | 0x7800,
        (_, M::F16) => any & 0x87ff | 0x3800,
        (_, M::Bf16) => any & 0x83ff | 0x3c00,
        (_, M::Tf32 | M::F32) => any & 0x83ff_ffff | 0x3c00_0000,
        _ => any,
    };
    bits & u64::MAX >> (64 - ty.bits())
}

#[test]
fn sums_at_once_are_those_one_by_one() {
    let has_vectors = crate::raw::Level::detect() != crate::raw::Level::Baseline;
    let e4m3 = [M::F32, M::E4m3, M::E5m2, M::F32];
    let fp8_to_half = [M::F16, M::E5m2, M::E4m3, M::F16];
    let cases = [(HALF, 8), (HALF, 16), (HALVES, 8), (HALVES, 16), (BRAIN, 8), (BRAIN, 16), (TF32, 4), (TF32, 8)];
    let (mut state, mut all) = (1, 0);
    for (types, k) in cases.into_iter().chain([(e4m3, 16), (e4m3, 32), (fp8_to_half, 32)]) {
        let product = MatrixProduct::new(MatrixShape { m: 16, n: 8, k }, types);
        let [_, n_a, n_b, n_c] = product.registers();
        let (mut fast, mut before) = ([0; 3], Vec::new());
        for cores in GROUPS.iter().copied().flatten().copied().chain([C::Ada]) {
            for round in 0..100 {
                let elements = [Elements::Any, Elements::Wide, Elements::Few][round / 2 % 3];
                let registers = [(n_a, types[1]), (n_b, types[2]), (n_c, types[3])].into_iter();
                let mut registers: Vec<[u32; LANES]> = registers
                    .flat_map(|(count, ty)| std::iter::repeat_n(ty, count))
                    .map(|ty| {
                        std::array::from_fn(|_| {
                            let places = 0..ty.per_register() as u32;
                            places.fold(0, |word, at| {
                                word | (element(ty, elements, &mut state) as u32) << (at * ty.bits())
                            })
                        })
                    })
                    .collect();
                // Every second product has the rows of the one before.
                if round % 2 == 1 {
                    registers[..n_a].copy_from_slice(&before);
                }
                before = registers[..n_a].to_vec();
                let fragments: Vec<Fragment> = registers.iter().map(|of| of.map(u64::from)).collect();
                let slow = with_results(cores, &product, &fragments, one_by_one);
                assert_eq!(cores.product(&product, &fragments), slow, "{types:?} {k} {cores:?}");
                let mut d = [[0; LANES]; MOST_RESULTS];
                let registers: Vec<&[u32; LANES]> = registers.iter().collect();
                if cores.fast_product(&product, &registers, &mut d) == Fast::Made {
                    let d: Vec<Fragment> = d[..slow.len()].iter().map(|of| of.map(u64::from)).collect();
                    assert_eq!(d, slow, "{types:?} {k} {cores:?}, from registers");
                    fast[elements as usize] += 1;
                }
            }
        }
        let is_narrow = matches!(types[1], M::F16 | M::Bf16);
        all += fast.iter().sum::<i32>();
        assert!(!has_vectors || !is_narrow || fast[1..].iter().all(|&of| of > 10), "{types:?} {k}: {fast:?}");
    }
    assert!(!has_vectors || all > 1000, "{all} products at once");
}

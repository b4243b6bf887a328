//! Machine code of products of matrices, by generation, as ptxas makes it.
//!
//! | Product | 7.0 | 7.5 | 8.x | 9.0 | 10.x | 12.x |
//! |---|---|---|---|---|---|---|
//! | m8n8k4 of f16 | `HMMA.884`: four for f32, two for f16 | as 7.0 | a routine | a routine | a routine | a routine |
//! | f16, bf16, tf32 | `HMMA.884`: a depth of 4, f32 in two steps | `HMMA.1688` | one | one | one | one |
//! | fp8 | | | one (8.9) | unpacked, two `HMMA`, four sums | as 9.0 | one |
//! | fp6, fp4 | | | | | | one |
//! | f64 | | | one | one | one for each 8x8x4 | as 10.x |
//! | bytes | | `IMMA.8816` | one | one | one, of 16 rows | one |
//! | 4 bits | | one | one | not known | not known | not known |
//! | bits | | one | one | one if combined by and | not known | not known |
//!
//! An instruction does as many multiply-adds as its shape has; [`MachineInst::amount`](warplens_trace::MachineInst) counts
//! them in those of 16-bit elements. What the hardware lacks is a subroutine of ptxas that nobody has counted.
//!
//! Products with a sparse a are as disassembled of ptxas 13.5: one instruction (`HMMA.SP`, `IMMA.SP`, `QMMA.SP`), which takes
//! as long as a dense one of half the depth, but for these.
//!
//! | Sparse product | 8.x | 9.0 | 10.x | 12.x |
//! |---|---|---|---|---|
//! | f16, bytes, places in any order | one | one | sorted before | sorted before |
//! | fp8 | one (8.9) | unpacked, two `HMMA.SP`, four sums | the same, sorted twice | one |
//! | 4 bits | one | unpacked, two `IMMA.SP` of bytes, four sums | the same, sorted twice | as 10.x |

use warplens_isa::{BoolOp, MatrixProduct, MatrixShape, MatrixType as M, Sparsity};
use warplens_trace::MachineClass as C;

use super::{Recipe, Stage};
use crate::target::Target;

/// The class of the instructions of a product: by its sums.
pub(crate) const fn class_of(product: &MatrixProduct) -> C {
    match product.types[0] {
        M::F64 => C::TensorFp64,
        M::F32 => C::TensorFp32,
        _ => C::Tensor,
    }
}

/// The recipe of a product; none where it is not known what ptxas makes of it.
pub(crate) fn product(product: &MatrixProduct, target: &Target) -> Option<Recipe> {
    let MatrixShape { m, n, k } = product.shape;
    let [d, a, ..] = product.types;
    let work = product.work();
    let class = class_of(product);
    let split = |steps: u16, parts: u16| {
        let (steps, parts) = (u32::from(steps), u32::from(parts));
        let stage = Stage { class, amount: work / (steps * parts), parts };
        Some(Recipe::Stages(vec![stage; steps as usize]))
    };
    let one = || split(1, 1);
    if let Some(sparsity) = product.sparsity {
        return Some(sparse(product, sparsity, class, target));
    }
    if product.is_by_quads() {
        return match target.is_from(8, 0) {
            false => split(1, if d == M::F32 { 4 } else { 2 }),
            true => Some(quads(d == M::F16)),
        };
    }
    match a {
        M::F16 if !target.is_from(7, 5) => split(k / 4, if d == M::F32 { 2 } else { 1 }),
        M::F16 | M::Bf16 if !target.is_from(8, 0) => split(k.div_ceil(8), 1),
        M::F16 | M::Bf16 | M::Tf32 | M::F32 => one(),
        M::E4m3 | M::E5m2 if target.is_from(9, 0) && !target.is_from(12, 0) => Some(unpacked(product)),
        M::E3m2 | M::E2m3 | M::E2m1 if !target.is_from(12, 0) => None,
        M::E4m3 | M::E5m2 | M::E3m2 | M::E2m3 | M::E2m1 => one(),
        M::F64 if target.is_from(10, 0) => split(k / 4, m / 8),
        M::F64 => one(),
        M::S8 | M::U8 if !target.is_from(8, 0) => split(k / 16, m / 8),
        M::S8 | M::U8 if target.is_from(10, 0) && m == 8 => {
            Some(Recipe::Stages(vec![Stage { class, amount: 2 * work, parts: 1 }]))
        }
        M::S8 | M::U8 | M::S32 => one(),
        M::S4 | M::U4 => {
            if target.is_from(9, 0) {
                None
            } else {
                one()
            }
        }
        M::B1 if target.is_from(10, 0) => None,
        M::B1 if target.is_from(9, 0) && product.combination != Some(BoolOp::And) => None,
        M::B1 => {
            debug_assert!(n == 8, "products of bits have eight columns");
            one()
        }
    }
}

/// The routine that takes the place of products by quads where there is no unit for them, as disassembled for 8.0 and 9.0:
/// addresses, exchange of the factors, their conversion, products and sums.
fn quads(is_half: bool) -> Recipe {
    let stage = |class, parts| Stage { class, amount: 1, parts };
    Recipe::Stages(match is_half {
        false => vec![
            stage(C::Int, 9),
            stage(C::Shuffle, 12),
            stage(C::Fp16, 24),
            stage(C::Fp32, 8),
            stage(C::Fp32, 8),
            stage(C::Fp32, 8),
            stage(C::Fp32, 8),
            stage(C::Fp32, 8),
        ],
        true => vec![
            stage(C::Int, 8),
            stage(C::Shuffle, 16),
            stage(C::Fp16, 44),
            stage(C::Fp32Mul, 16),
            stage(C::Fp32, 16),
            stage(C::Fp32, 8),
            stage(C::Fp32, 8),
            stage(C::Int, 4),
        ],
    })
}

/// Products of fp8 where there is no unit for them: the factors become f16, the products of either half of them start
/// from zero and are added up, and the accumulator comes last.
fn unpacked(product: &MatrixProduct) -> Recipe {
    let is_half = product.types[0] == M::F16;
    let (class, sum, sums) = if is_half { (C::Tensor, C::Fp16, 2) } else { (C::TensorFp32, C::Fp32, 4) };
    // As f16 it is twice the work, in two instructions.
    let multiply = Stage { class, amount: product.work(), parts: 1 };
    let unpack = if product.shape.k == 16 { 6 } else { 12 };
    Recipe::Stages(vec![
        Stage { class: C::Int, amount: 1, parts: unpack },
        multiply,
        multiply,
        Stage { class: sum, amount: 1, parts: sums },
    ])
}

/// Products with a sparse a.
fn sparse(product: &MatrixProduct, sparsity: Sparsity, class: C, target: &Target) -> Recipe {
    let is_deep = product.work() > MatrixProduct::HALF_WORK;
    let stage = |class, parts| Stage { class, amount: 1, parts };
    let multiply = Stage { class, amount: product.work(), parts: 1 };
    // Metadata whose places are sorted, with the elements that they are about.
    let sorted = |ints, shuffles| vec![stage(C::Int, ints), stage(C::Shuffle, shuffles)];
    let mut stages = Vec::new();
    match product.types[1] {
        M::E4m3 | M::E5m2 if target.is_from(9, 0) && !target.is_from(12, 0) => {
            stages.extend([stage(C::Int, 78), stage(C::Shuffle, 3)]);
            if target.is_from(10, 0) {
                stages.extend([sorted(43, 4), sorted(43, 4)].concat());
            }
            // As f16 it is twice the work, in two instructions.
            stages.extend([multiply, multiply, stage(C::Fp32, 4)]);
        }
        M::S4 | M::U4 if target.is_from(9, 0) => {
            stages.push(stage(C::Int, if is_deep { 240 } else { 120 }));
            if target.is_from(10, 0) {
                stages.extend(
                    if is_deep { [sorted(64, 4), sorted(64, 4)] } else { [sorted(41, 4), sorted(41, 4)] }.concat(),
                );
            }
            stages.extend([multiply, multiply, stage(C::Int, 4)]);
        }
        _ => {
            if !sparsity.ordered && target.is_from(10, 0) {
                match (product.types[1], is_deep) {
                    (M::F16, false) => stages.extend(sorted(27, 3)),
                    (M::F16, true) => stages.extend(sorted(43, 4)),
                    (M::S8 | M::U8, false) => stages.extend(sorted(41, 4)),
                    (M::S8 | M::U8, true) => stages.extend(sorted(63, 4)),
                    _ => {}
                }
            }
            stages.push(multiply);
        }
    }
    Recipe::Stages(stages)
}

#[cfg(test)]
mod tests {
    use warplens_machine::ComputeCapability;

    use super::*;

    /// Types, extents, and by generation what is expected where the product exists.
    type Case = ([M; 4], (u16, u16, u16), [Option<(u32, u32)>; 7]);

    /// Instructions of the tensor lanes and the work of one, for 7.0, 7.5, 8.0, 8.9, 9.0, 10.0 and 12.0.
    #[test]
    fn products_are_the_instructions_of_each_generation() {
        let generations = [(7, 0), (7, 5), (8, 0), (8, 9), (9, 0), (10, 0), (12, 0)];
        let half = [M::F32, M::F16, M::F16, M::F32];
        let none = None;
        let cases: &[Case] = &[
            (
                half,
                (8, 8, 4),
                [Some((4, 256)), Some((4, 256)), Some((0, 0)), Some((0, 0)), Some((0, 0)), Some((0, 0)), Some((0, 0))],
            ),
            (
                [M::F16; 4],
                (16, 8, 16),
                [
                    Some((4, 512)),
                    Some((2, 1024)),
                    Some((1, 2048)),
                    Some((1, 2048)),
                    Some((1, 2048)),
                    Some((1, 2048)),
                    Some((1, 2048)),
                ],
            ),
            (
                half,
                (16, 8, 16),
                [
                    Some((8, 256)),
                    Some((2, 1024)),
                    Some((1, 2048)),
                    Some((1, 2048)),
                    Some((1, 2048)),
                    Some((1, 2048)),
                    Some((1, 2048)),
                ],
            ),
            (
                [M::S32, M::S8, M::S8, M::S32],
                (16, 8, 16),
                [
                    Some((2, 512)),
                    Some((2, 512)),
                    Some((1, 1024)),
                    Some((1, 1024)),
                    Some((1, 1024)),
                    Some((1, 1024)),
                    Some((1, 1024)),
                ],
            ),
            (
                [M::F32, M::E4m3, M::E4m3, M::F32],
                (16, 8, 32),
                [none, none, none, Some((1, 2048)), Some((2, 2048)), Some((2, 2048)), Some((1, 2048))],
            ),
            ([M::F64; 4], (16, 8, 8), [none, none, none, none, Some((1, 1024)), Some((4, 256)), Some((4, 256))]),
            (
                [M::S32, M::S4, M::S4, M::S32],
                (16, 8, 64),
                [none, none, Some((1, 2048)), Some((1, 2048)), none, none, none],
            ),
        ];
        for &(types, (m, n, k), expected) in cases {
            for ((major, minor), expected) in generations.into_iter().zip(expected) {
                let target = Target::plain(ComputeCapability::new(major, minor));
                let Some(expected) = expected else { continue };
                let it = MatrixProduct::new(MatrixShape { m, n, k }, types);
                let Some(Recipe::Stages(stages)) = product(&it, &target) else { panic!("{it:?} {major}.{minor}") };
                let on_tensors =
                    stages.iter().filter(|stage| matches!(stage.class, C::Tensor | C::TensorFp32 | C::TensorFp64));
                let found = on_tensors.fold((0, 0), |(count, _), stage| (count + stage.parts, stage.amount));
                assert_eq!(found, expected, "{it:?} {major}.{minor}");
            }
        }
        let four_bits = MatrixProduct::new(MatrixShape { m: 16, n: 8, k: 64 }, [M::S32, M::S4, M::S4, M::S32]);
        assert_eq!(product(&four_bits, &Target::plain(ComputeCapability::new(9, 0))), None);
    }

    /// Instructions on the tensor lanes, the work of one, and other instructions.
    type Counts = (u32, u32, u32);
    /// Types, depth, whether the metadata are ordered, and what is expected for 8.0, 9.0, 10.0 and 12.0.
    type SparseCase = ([M; 4], u16, bool, [Counts; 4]);

    #[test]
    fn sparse_products_are_one_instruction_unless_something_is_missing() {
        let half = [M::F32, M::F16, M::F16, M::F32];
        let cases: &[SparseCase] = &[
            (half, 16, true, [(1, 1024, 0); 4]),
            (half, 16, false, [(1, 1024, 0), (1, 1024, 0), (1, 1024, 30), (1, 1024, 30)]),
            (half, 32, false, [(1, 2048, 0), (1, 2048, 0), (1, 2048, 47), (1, 2048, 47)]),
            ([M::F32, M::Tf32, M::Tf32, M::F32], 16, false, [(1, 2048, 0); 4]),
            ([M::S32, M::S8, M::S8, M::S32], 64, false, [(1, 2048, 0), (1, 2048, 0), (1, 2048, 67), (1, 2048, 67)]),
            ([M::S32, M::S4, M::S4, M::S32], 64, true, [(1, 1024, 0), (2, 1024, 124), (2, 1024, 214), (2, 1024, 214)]),
        ];
        for &(types, k, ordered, expected) in cases {
            for ((major, minor), expected) in [(8, 0), (9, 0), (10, 0), (12, 0)].into_iter().zip(expected) {
                let shape = MatrixShape { m: 16, n: 8, k };
                let sparsity = Some(Sparsity { selector: 0, ordered });
                let it = MatrixProduct { sparsity, ..MatrixProduct::new(shape, types) };
                let target = Target::plain(ComputeCapability::new(major, minor));
                let Some(Recipe::Stages(stages)) = product(&it, &target) else { panic!("{it:?} {major}.{minor}") };
                let is_product = |stage: &&Stage| matches!(stage.class, C::Tensor | C::TensorFp32);
                let (products, others): (Vec<&Stage>, Vec<&Stage>) = stages.iter().partition(is_product);
                let count = |stages: &[&Stage]| stages.iter().map(|stage| stage.parts).sum::<u32>();
                let found = (count(&products), products[0].amount, count(&others));
                assert_eq!(found, expected, "{it:?} {major}.{minor}");
            }
        }
    }
}

//! Instructions that the emulator does not execute: what they occupy follows from their opcode.

use warplens_trace::MachineClass as C;

/// Class and amount of an instruction by its opcode.
pub(crate) fn work(opcode: &str) -> (C, u32) {
    let mut words = opcode.split('.');
    let head = words.next().unwrap_or(opcode);
    let second = words.next().unwrap_or("");
    let is = |word: &str| opcode.split('.').any(|it| it == word);
    match (head, second) {
        ("wgmma", "mma_async") => (C::TensorAsync, multiply_adds(opcode).div_ceil(WARPS_OF_A_GROUP)),
        ("wgmma", "commit_group") => (C::AsyncCommit, 1),
        ("wgmma", "wait_group") => (C::AsyncWait, 0),
        ("mma", _) | ("wmma", "mma") => {
            let class = if is("f64") { C::TensorFp64 } else { C::Tensor };
            (class, multiply_adds(opcode).max(1))
        }
        ("wmma", "load") | ("ldmatrix", _) => (C::Load, 1),
        ("wmma", "store") | ("stmatrix", _) => (C::Store, 1),
        ("movmatrix", _) => (C::Shuffle, 1),
        ("cp", "async") if is("commit_group") => (C::AsyncCommit, 1),
        ("cp", "async") if is("wait_group") || is("wait_all") => (C::AsyncWait, 0),
        ("cp", _) => (C::AsyncCopy, 1),
        ("mbarrier", "arrive" | "arrive_drop" | "init" | "inval") => (C::Atomic, 1),
        ("mbarrier", _) => (C::Load, 1),
        ("barrier", "cluster") if is("arrive") => (C::BarrierArrive, CLUSTER_BARRIER),
        ("barrier", "cluster") => (C::Barrier, CLUSTER_BARRIER),
        ("tex" | "tld4" | "suld" | "ldu", _) => (C::Load, 1),
        ("sust", _) => (C::Store, 1),
        ("sured", _) => (C::Reduction, 1),
        ("fence" | "membar", _) => (C::Fence, 1),
        _ => (C::Int, 1),
    }
}

/// Warps that carry out one asynchronous matrix product together.
const WARPS_OF_A_GROUP: u32 = 4;

/// The number of the barrier of a cluster: one that no CTA barrier has.
const CLUSTER_BARRIER: u32 = 16;

/// Multiply-adds of a matrix instruction: the product of the extents that its shape names, such as `m16n8k16`.
fn multiply_adds(opcode: &str) -> u32 {
    opcode.split('.').find_map(shape).unwrap_or(0)
}

fn shape(word: &str) -> Option<u32> {
    let (m, rest) = word.strip_prefix('m')?.split_once('n')?;
    let (n, k) = rest.split_once('k')?;
    let number = |text: &str| text.parse::<u32>().ok();
    number(m)?.checked_mul(number(n)?)?.checked_mul(number(k)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opcodes_say_what_they_occupy() {
        let cases = [
            ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", (C::Tensor, 2048)),
            ("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", (C::TensorFp64, 256)),
            ("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16", (C::TensorAsync, 32768)),
            ("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32", (C::Tensor, 4096)),
            ("cp.async.ca.shared.global", (C::AsyncCopy, 1)),
            ("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes", (C::AsyncCopy, 1)),
            ("cp.async.commit_group", (C::AsyncCommit, 1)),
            ("ldmatrix.sync.aligned.m8n8.x4.shared.b16", (C::Load, 1)),
            ("barrier.cluster.arrive", (C::BarrierArrive, 16)),
        ];
        for (opcode, expected) in cases {
            assert_eq!(work(opcode), expected, "{opcode}");
        }
    }
}

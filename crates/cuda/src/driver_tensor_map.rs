//! Tensor maps of the driver API (CUDA driver API, Tensor Map Object Management).
//!
//! What the driver writes into the 128 bytes of a map is not public, and no program may look at them; here they are those
//! that the emulator reads ([`TensorMap::pack`]).

use warplens_isa::{MOST_TENSOR_DIMENSIONS, Swizzle, TENSOR_MAP_BYTES, TensorMap};
use warplens_runtime::Status;

use crate::guard::driver_call;
use crate::pointers::{In, Memory, Out};
use crate::{Runtime, api};

const CALL: &str = "cuTensorMapEncodeTiled";

type Result<T> = std::result::Result<T, Status>;

/// `CU_TENSOR_MAP_INTERLEAVE_NONE`.
const NOT_INTERLEAVED: i32 = 0;

/// What a call says of a tensor: its type (`CUtensorMapDataType`), its dimensions, its address, and by dimension its extents,
/// strides without the first, the extents of the box, and the steps.
type Tensor = (i32, u32, Memory, In<u64>, In<u64>, In<u32>, In<u32>);

/// How the box comes to shared memory: interleave, swizzle and fill, as their enumerations have them.
type Ways = (i32, i32, i32);

fn encode(
    runtime: &mut Runtime,
    (ty, rank, address, extents, strides, box_extents, steps): Tensor,
    (interleave, swizzle, fill): Ways,
) -> Result<TensorMap> {
    let rank = rank as usize;
    if !(1..=MOST_TENSOR_DIMENSIONS).contains(&rank) || !(0..=1).contains(&fill) {
        return Err(Status::INVALID_VALUE);
    }
    // Both enumerations are in the order of ours; those that follow are not known here.
    let place = |number: i32| usize::try_from(number).map_err(|_| Status::INVALID_VALUE);
    let Some(&ty) = TensorMap::TYPES.get(place(ty)?) else {
        return Err(runtime.unsupported(&format!("{CALL} of type {ty}")));
    };
    let Some(&swizzle) = Swizzle::ALL.get(place(swizzle)?) else {
        return Err(runtime.unsupported(&format!("{CALL} with swizzle {swizzle}")));
    };
    if interleave != NOT_INTERLEAVED {
        return Err(runtime.unsupported(&format!("{CALL} with interleave {interleave}")));
    }
    let extents = extents.list(rank)?.into_iter().map(u32::try_from).collect::<std::result::Result<_, _>>();
    let Ok(extents) = extents else {
        return Err(runtime.unsupported(&format!("{CALL} of 2^32 elements along a dimension")));
    };
    Ok(TensorMap {
        address: address.address(),
        ty,
        extents,
        strides: strides.list(rank - 1)?,
        box_extents: box_extents.list(rank)?,
        steps: steps.list(rank)?,
        swizzle,
        fills_nan: fill == 1,
    })
}

/// The bytes of a map, if a GPU and the emulator take it.
fn packed(runtime: &mut Runtime, call: &str, map: &TensorMap) -> Result<[u8; TENSOR_MAP_BYTES]> {
    let Some(fault) = map.fault() else { return Ok(map.pack()) };
    // GPUs take rows that are shorter than what is swizzled.
    let is_short = map.swizzle.span().is_some_and(|span| map.steps[0] > 0 && map.row_bytes() < u64::from(span));
    let status = if is_short { Status::NOT_SUPPORTED } else { Status::INVALID_VALUE };
    Err(runtime.fail(status, &format!("{call}: {fault}")))
}

api! { driver_call;
    /// Writes the map of a tensor of which boxes are copied. What it says of the L2 cache changes nothing that a program sees.
    fn cuTensorMapEncodeTiled(
        to: Out<[u8; TENSOR_MAP_BYTES]>,
        ty: i32,
        rank: u32,
        address: Memory,
        extents: In<u64>,
        strides: In<u64>,
        box_extents: In<u32>,
        steps: In<u32>,
        interleave: i32,
        swizzle: i32,
        _promotion: i32,
        fill: i32,
    ) |runtime| {
        let tensor = (ty, rank, address, extents, strides, box_extents, steps);
        let map = encode(runtime, tensor, (interleave, swizzle, fill))?;
        to.set(packed(runtime, CALL, &map)?)
    }

    /// Changes where the tensor of a map lies.
    fn cuTensorMapReplaceAddress(map: Out<[u8; TENSOR_MAP_BYTES]>, address: Memory) |runtime| {
        let mut changed = TensorMap::unpack(&map.get()?).map_err(|_| Status::INVALID_VALUE)?;
        changed.address = address.address();
        map.set(packed(runtime, "cuTensorMapReplaceAddress", &changed)?)
    }
}

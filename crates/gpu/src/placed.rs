//! The buffers of a plan in the memory of a GPU, and its launches there.
#![allow(unsafe_code)]

use warplens_base::error::{Error, ErrorKind, Result};
use warplens_isa::{Swizzle, TENSOR_MAP_ADDRESS, TENSOR_MAP_BYTES, TensorMap};
use warplens_launch::{BufferId, Plan, PlannedBuffer, PlannedLaunch, PlannedSymbol, Words};

use crate::driver::LaunchAttribute;
use crate::gpu::{self, Gpu, Memory};
use crate::image::Image;
use crate::module::{Function, Module};
use crate::timing::{self, Repeats, Timing};

/// A buffer now, and what it held at first where that is not zeros.
struct Given<'g> {
    now: Memory<'g>,
    before: Option<Memory<'g>>,
}

impl<'g> Given<'g> {
    fn new(gpu: &'g Gpu, buffer: &PlannedBuffer) -> Result<Self> {
        let now = Memory::new(gpu, buffer.bytes.len())?;
        let before = if buffer.is_zero {
            None
        } else {
            let before = Memory::new(gpu, buffer.bytes.len())?;
            before.write(&buffer.bytes)?;
            Some(before)
        };
        let placed = Self { now, before };
        placed.set_back()?;
        Ok(placed)
    }

    fn set_back(&self) -> Result<()> {
        match &self.before {
            Some(before) => self.now.copy_from(before),
            None => self.now.zero(),
        }
    }
}

/// A launch that is ready.
struct Ready {
    function: Function,
    grid: [u32; 3],
    block: [u32; 3],
    shared_bytes: u32,
    attributes: Vec<LaunchAttribute>,
    parameters: Vec<u8>,
    /// Contents of variables, with their places.
    symbols: Vec<((u64, usize), Vec<u8>)>,
}

/// A plan on a GPU.
pub struct Placed<'m, 'g> {
    module: &'m Module<'g>,
    buffers: Vec<Given<'g>>,
    images: Vec<Image<'g>>,
    launches: Vec<Ready>,
}

impl<'m, 'g> Placed<'m, 'g> {
    /// Brings the buffers of a plan to a GPU. Each launch has the name of its kernel in the PTX, and whether all its CTAs
    /// have to be there at the same time.
    pub fn new(module: &'m Module<'g>, plan: &Plan, kernels: &[(String, bool)]) -> Result<Self> {
        let gpu = module.gpu;
        let buffers: Vec<Given<'g>> =
            plan.buffers.as_slice().iter().map(|buffer| Given::new(gpu, buffer)).collect::<Result<_>>()?;
        let mut placed = Self { module, buffers, images: Vec::new(), launches: Vec::new() };
        for object in plan.objects.as_slice() {
            let address = || object.texels.map_or(0, |(buffer, ..)| placed.buffer(plan, buffer).now.address);
            let image = Image::new(gpu, object, address)?;
            placed.images.push(image);
        }
        for (launch, (kernel, is_cooperative)) in plan.launches.iter().zip(kernels) {
            let ready = placed.ready(plan, launch, kernel, *is_cooperative)?;
            placed.launches.push(ready);
        }
        Ok(placed)
    }

    fn ready(&self, plan: &Plan, launch: &PlannedLaunch, kernel: &str, is_cooperative: bool) -> Result<Ready> {
        let function = self.module.function(kernel)?;
        let shared_bytes = u32::try_from(launch.dynamic_shared)
            .map_err(|_| Error::usage(format!("{} bytes of dynamic shared memory", launch.dynamic_shared)))?;
        if shared_bytes > 0 {
            self.module.allow_shared(&function, launch.dynamic_shared)?;
        }
        let mut attributes = Vec::new();
        attributes.extend(launch.cluster.map(LaunchAttribute::cluster));
        attributes.extend(is_cooperative.then(LaunchAttribute::cooperative));
        let symbol = |symbol: &PlannedSymbol| {
            if !symbol.content.handles.is_empty() {
                let what = format!("{}: texture references are not bound on a GPU", symbol.name);
                return Err(Error::new(ErrorKind::Unsupported, what));
            }
            Ok((self.module.variable(&symbol.name)?, self.bytes(plan, &symbol.content)?))
        };
        Ok(Ready {
            function,
            grid: launch.grid,
            block: launch.block,
            shared_bytes,
            attributes,
            parameters: self.bytes(plan, &launch.parameters)?,
            symbols: launch.symbols.iter().map(symbol).collect::<Result<_>>()?,
        })
    }

    fn buffer(&self, plan: &Plan, id: BufferId) -> &Given<'g> {
        let at = plan.buffers.iter().position(|(other, _)| other == id);
        &self.buffers[at.expect("buffers of a plan are in it")]
    }

    /// Bytes with the addresses that buffers have, and tensor maps as the GPU reads them.
    fn bytes(&self, plan: &Plan, words: &Words) -> Result<Vec<u8>> {
        let handle = |id| plan.objects.iter().position(|(other, _)| other == id).map_or(0, |at| self.images[at].handle);
        let mut bytes = words.resolved(|id| self.buffer(plan, id).now.address, handle);
        for pointer in &words.pointers {
            let Some(start) = pointer.at.checked_sub(TENSOR_MAP_ADDRESS) else { continue };
            let Some(part) = bytes.get_mut(start..start + TENSOR_MAP_BYTES) else { continue };
            if let Ok(map) = TensorMap::unpack(part) {
                part.copy_from_slice(&encoded(self.module.gpu, &map)?);
            }
        }
        Ok(bytes)
    }

    /// Puts the buffers back to what they held at first, and writes the variables of a launch.
    fn set_back(&self, number: usize) -> Result<()> {
        self.buffers.iter().try_for_each(Given::set_back)?;
        self.images.iter().try_for_each(Image::fill)?;
        self.write_symbols(number)
    }

    fn write_symbols(&self, number: usize) -> Result<()> {
        let mut symbols = self.launches[number].symbols.iter();
        symbols.try_for_each(|(place, bytes)| gpu::write(self.module.gpu, *place, bytes))
    }

    fn launch(&self, number: usize) -> Result<()> {
        let of = &self.launches[number];
        self.module.gpu.launch(&of.function, (of.grid, of.block), of.shared_bytes, &of.attributes, &of.parameters)
    }

    /// Runs all launches, one after the other.
    pub fn run(&self) -> Result<()> {
        for number in 0..self.launches.len() {
            self.write_symbols(number)?;
            self.launch(number)?;
            self.module.gpu.synchronize()?;
        }
        self.images.iter().try_for_each(Image::read_back)
    }

    /// What the buffers hold, in the order of the plan.
    pub fn contents(&self) -> Result<Vec<Vec<u8>>> {
        self.buffers.iter().map(|buffer| buffer.now.read(buffer.now.bytes)).collect()
    }

    /// Times one launch, with buffers as they were at first.
    pub fn time(&self, number: usize, repeats: Repeats) -> Result<Timing> {
        timing::timed(self.module.gpu, repeats, &|| self.set_back(number), &|| self.launch(number))
    }
}

/// The bytes of a tensor map as the hardware has them.
#[repr(C, align(64))]
struct Opaque([u8; TENSOR_MAP_BYTES]);

fn encoded(gpu: &Gpu, map: &TensorMap) -> Result<[u8; TENSOR_MAP_BYTES]> {
    let position = |found: Option<usize>| found.expect("it is listed") as i32;
    // `CUtensorMapDataType` and `CUtensorMapSwizzle` are in the same order.
    let ty = position(TensorMap::TYPES.iter().position(|&ty| ty == map.ty));
    let swizzle = match map.swizzle.span() {
        None => 0,
        Some(32) => 1,
        Some(64) => 2,
        Some(_) => 3,
    };
    debug_assert_eq!(Swizzle::ALL.len(), 4, "none, 32, 64 and 128 bytes");
    let extents: Vec<u64> = map.extents.iter().map(|&extent| extent.into()).collect();
    let mut opaque = Opaque([0; TENSOR_MAP_BYTES]);
    // SAFETY: the result is writable and aligned; the lists have as many elements as the rank says, that of the strides
    // one less.
    let status = unsafe {
        (gpu.driver.encode_tensor_map)(
            (&raw mut opaque).cast(),
            ty,
            extents.len() as u32,
            map.address,
            extents.as_ptr(),
            map.strides.as_ptr(),
            map.box_extents.as_ptr(),
            map.steps.as_ptr(),
            0,
            swizzle,
            0,
            map.fills_nan.into(),
        )
    };
    gpu.driver.check("a tensor map", status)?;
    Ok(opaque.0)
}

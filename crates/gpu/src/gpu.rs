//! A GPU with its context: memory, events and clocks.
#![allow(unsafe_code)]

use std::cell::OnceCell;
use std::ffi::{CStr, c_char, c_int, c_void};

use warplens_base::error::{Error, Result};

use crate::driver::{self, Address, DeviceNumber, Driver, Handle, LaunchAttribute, LaunchConfig};
use crate::management::Management;
use crate::module::{self, Function, Module};
use crate::timing::{self, Repeats, Timing};

/// Attributes of a device (`CUdevice_attribute`).
const CLOCK_KHZ: c_int = 13;
const SMS: c_int = 16;
const MEMORY_CLOCK_KHZ: c_int = 36;
const L2_BYTES: c_int = 38;
const CC_MAJOR: c_int = 75;
const CC_MINOR: c_int = 76;

/// In place of pointers to arguments, the bytes of the parameter space are given (`CU_LAUNCH_PARAM_...`).
const PARAMETER_BYTES: *mut c_void = std::ptr::without_provenance_mut(1);
const PARAMETER_SIZE: *mut c_void = std::ptr::without_provenance_mut(2);
const PARAMETER_END: *mut c_void = std::ptr::null_mut();

/// Cycles that the clock is watched for: a few milliseconds, of which the timer of the slowest GPU misses a microsecond.
const SPIN_CYCLES: u64 = 4_000_000;
/// Clocks that a GPU may have, in MHz.
const CLOCKS_MHZ: std::ops::Range<f64> = 100.0..5000.0;
/// So many spins bring the clocks up.
const WARM_UP_SPINS: usize = 50;

/// What a GPU says of itself.
#[derive(Clone, PartialEq, Debug)]
pub struct Facts {
    /// Marketing name.
    pub name: String,
    /// Compute capability, as 90 for 9.0.
    pub cc: u32,
    /// Streaming multiprocessors.
    pub n_sms: u32,
    /// Bytes of the L2 cache.
    pub l2_bytes: u64,
    /// Largest clock of the SMs, in MHz.
    pub most_mhz: u32,
    /// Largest clock of the memory, in MHz.
    pub most_memory_mhz: u32,
    /// Version of the driver, where the management library says it.
    pub driver: Option<String>,
    /// Version of CUDA that the driver knows, as 13000 for 13.0.
    pub cuda: u32,
}

/// A GPU that is there. One thread uses it.
pub struct Gpu {
    pub(crate) driver: Driver,
    device: DeviceNumber,
    management: Option<Management>,
    facts: Facts,
    /// The module of `clock.ptx`, once it is needed.
    own: OnceCell<Handle>,
    /// Memory that fills the L2 cache, once it is needed.
    other: OnceCell<(Address, usize)>,
}

impl Gpu {
    /// Opens a GPU of this machine, by its number from 0.
    pub fn open(number: u32) -> Result<Self> {
        let driver = Driver::load()?;
        let mut count = 0;
        // SAFETY: here and below in this function, results are writable, texts for as many bytes as is said, and devices
        // are those that the driver named.
        driver.check("to count GPUs", unsafe { (driver.device_count)(&raw mut count) })?;
        let wanted = c_int::try_from(number).unwrap_or(c_int::MAX);
        if wanted >= count {
            return Err(Error::usage(format!("there is no GPU {number}: the CUDA driver finds {count}")));
        }
        let mut device = 0;
        driver.check("a GPU", unsafe { (driver.device)(&raw mut device, wanted) })?;
        let text = |what, function: unsafe extern "C" fn(*mut c_char, c_int, DeviceNumber) -> c_int| {
            let mut bytes = [0; 256];
            driver.check(what, unsafe { function(bytes.as_mut_ptr(), 255, device) })?;
            Ok(unsafe { CStr::from_ptr(bytes.as_ptr()) }.to_string_lossy().into_owned())
        };
        let attribute = |which| {
            let mut value = 0;
            driver.check("an attribute of the GPU", unsafe {
                (driver.device_attribute)(&raw mut value, which, device)
            })?;
            Ok(u32::try_from(value).unwrap_or(0))
        };
        let mut cuda = 0;
        driver.check("its version", unsafe { (driver.driver_version)(&raw mut cuda) })?;
        let management = Management::load(&text("the bus of the GPU", driver.device_bus)?);
        let facts = Facts {
            name: text("the name of the GPU", driver.device_name)?,
            cc: 10 * attribute(CC_MAJOR)? + attribute(CC_MINOR)?,
            n_sms: attribute(SMS)?,
            l2_bytes: attribute(L2_BYTES)?.into(),
            most_mhz: attribute(CLOCK_KHZ)? / 1000,
            most_memory_mhz: attribute(MEMORY_CLOCK_KHZ)? / 1000,
            driver: management.as_ref().and_then(|management| management.driver.clone()),
            cuda: u32::try_from(cuda).unwrap_or(0),
        };
        let mut context = std::ptr::null_mut();
        driver.check("a context", unsafe { (driver.retain_context)(&raw mut context, device) })?;
        let gpu = Self { driver, device, management, facts, own: OnceCell::new(), other: OnceCell::new() };
        gpu.driver.check("the context", unsafe { (gpu.driver.set_context)(context) })?;
        // A driver whose time is none is refused before anything is taken from it.
        gpu.sm_mhz()?;
        Ok(gpu)
    }

    /// Keeps the GPU busy until its clocks are up: those that are idle are slow.
    pub fn warm_up(&self) -> Result<()> {
        (0..WARM_UP_SPINS).try_for_each(|_| self.sm_mhz().map(drop))
    }

    /// What it says of itself.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// MHz of the SMs and of the memory now, as the management library has them.
    pub fn clocks_mhz(&self) -> [Option<u32>; 2] {
        self.management.as_ref().map_or([None; 2], Management::clocks_mhz)
    }

    /// Assembles PTX.
    pub fn load(&self, name: &str, ptx: &str) -> Result<Module<'_>> {
        Module::load(self, name, ptx)
    }

    /// MHz of the SMs, by counting cycles and nanoseconds. Refuses a driver whose time is none.
    pub fn sm_mhz(&self) -> Result<f64> {
        let function = self.own_kernel("spin")?;
        let counts = Memory::new(self, 16)?;
        let (start, end) = (Event::new(self)?, Event::new(self)?);
        start.record()?;
        let mut parameters = counts.address.to_le_bytes().to_vec();
        parameters.extend(SPIN_CYCLES.to_le_bytes());
        self.launch(&function, ([1; 3], [1; 3]), 0, &[], &parameters)?;
        end.record()?;
        let event_us = end.us_since(&start)?;
        let read = counts.read(16)?;
        let count = |at: usize| u64::from_le_bytes(read[at..at + 8].try_into().expect("eight bytes")) as f64;
        let (cycles, us) = (count(0), count(8) / 1e3);
        let mhz = cycles / us;
        // The events lie around the kernel, and little else.
        if !CLOCKS_MHZ.contains(&mhz) || event_us < 0.9 * us || event_us > 1.5 * us + 1e3 {
            let said = format!("{cycles} cycles of a kernel are {us} us for the kernel and {event_us} us for the host");
            return Err(driver::emulated(&said));
        }
        Ok(mhz)
    }

    /// What the events say of a kernel that does nothing.
    pub fn empty(&self, repeats: Repeats) -> Result<Timing> {
        let function = self.own_kernel("empty")?;
        timing::timed(self, repeats, &|| Ok(()), &|| self.launch(&function, ([1; 3], [32, 1, 1]), 0, &[], &[]))
    }

    fn own_kernel(&self, name: &str) -> Result<Function> {
        let handle = match self.own.get() {
            Some(&handle) => handle,
            None => {
                let handle = module::assembled(&self.driver, "clock.ptx", include_str!("clock.ptx"))?;
                *self.own.get_or_init(|| handle)
            }
        };
        module::function(&self.driver, handle, name)
    }

    /// Waits for all that was launched.
    pub(crate) fn synchronize(&self) -> Result<()> {
        // SAFETY: the context is current.
        self.driver.check("to finish", unsafe { (self.driver.synchronize)() })
    }

    pub(crate) fn launch(
        &self,
        function: &Function,
        (grid, block): ([u32; 3], [u32; 3]),
        shared_bytes: u32,
        attributes: &[LaunchAttribute],
        parameters: &[u8],
    ) -> Result<()> {
        let config = LaunchConfig {
            grid,
            block,
            shared_bytes,
            stream: std::ptr::null_mut(),
            attributes: attributes.as_ptr(),
            n_attributes: attributes.len() as u32,
        };
        let mut size = parameters.len();
        let extra = [
            PARAMETER_BYTES,
            parameters.as_ptr().cast_mut().cast(),
            PARAMETER_SIZE,
            (&raw mut size).cast(),
            PARAMETER_END,
        ];
        let extra = if parameters.is_empty() { std::ptr::null() } else { extra.as_ptr() };
        // SAFETY: the function belongs to a module that is loaded; the configuration, the attributes and the parameters,
        // which the driver only reads, outlive the call, which copies them.
        let status = unsafe { (self.driver.launch)(&raw const config, function.handle, std::ptr::null(), extra) };
        self.driver.check("a launch", status)
    }

    /// Puts other data into the L2 cache: four times its size, so that no policy of replacement keeps what was there. It
    /// is only read: lines that were written would have to go to memory while the launch after this one is timed.
    pub(crate) fn fill_cache(&self) -> Result<()> {
        let &(address, bytes) = match self.other.get() {
            Some(other) => other,
            None => {
                let bytes = usize::try_from(4 * self.facts.l2_bytes).unwrap_or(0).max(64 << 20);
                let memory = Memory::new(self, bytes)?;
                memory.zero()?;
                let memory = std::mem::ManuallyDrop::new(memory);
                self.other.get_or_init(|| (memory.address, bytes))
            }
        };
        let function = self.own_kernel("sweep")?;
        let mut parameters = address.to_le_bytes().to_vec();
        parameters.extend((bytes as u64 / 16).to_le_bytes());
        self.launch(&function, ([8 * self.facts.n_sms, 1, 1], [256, 1, 1]), 0, &[], &parameters)
    }
}

impl Drop for Gpu {
    fn drop(&mut self) {
        // SAFETY: neither the memory nor the context is used again. A failure leaves nothing to be done.
        unsafe {
            if let Some(&(address, _)) = self.other.get() {
                (self.driver.free)(address);
            }
            if let Some(&module) = self.own.get() {
                (self.driver.unload_module)(module);
            }
            (self.driver.release_context)(self.device);
        }
    }
}

/// Memory of a GPU.
pub(crate) struct Memory<'g> {
    gpu: &'g Gpu,
    pub(crate) address: Address,
    pub(crate) bytes: usize,
}

impl<'g> Memory<'g> {
    pub(crate) fn new(gpu: &'g Gpu, bytes: usize) -> Result<Self> {
        let mut address = 0;
        // SAFETY: the result is writable; an empty buffer takes a byte, since the driver refuses none.
        let status = unsafe { (gpu.driver.allocate)(&raw mut address, bytes.max(1)) };
        gpu.driver.check(&format!("{bytes} bytes of memory"), status)?;
        Ok(Self { gpu, address, bytes })
    }

    pub(crate) fn zero(&self) -> Result<()> {
        // SAFETY: the memory has so many bytes.
        let status = unsafe { (self.gpu.driver.fill)(self.address, 0, self.bytes, std::ptr::null_mut()) };
        self.gpu.driver.check("to clear memory", status)
    }

    pub(crate) fn write(&self, bytes: &[u8]) -> Result<()> {
        write(self.gpu, (self.address, self.bytes), bytes)
    }

    pub(crate) fn copy_from(&self, other: &Memory<'_>) -> Result<()> {
        let bytes = self.bytes.min(other.bytes);
        // SAFETY: both have so many bytes.
        let status = unsafe { (self.gpu.driver.copy)(self.address, other.address, bytes, std::ptr::null_mut()) };
        self.gpu.driver.check("to copy memory", status)
    }

    /// The first bytes, after all that was launched.
    pub(crate) fn read(&self, bytes: usize) -> Result<Vec<u8>> {
        let mut read = vec![0u8; bytes.min(self.bytes)];
        // SAFETY: the memory has at least so many bytes as are read.
        let status = unsafe { (self.gpu.driver.copy_to_host)(read.as_mut_ptr().cast(), self.address, read.len()) };
        self.gpu.driver.check("to read memory", status)?;
        Ok(read)
    }
}

impl Drop for Memory<'_> {
    fn drop(&mut self) {
        // SAFETY: the address came from the driver and is not used again. A failure leaves nothing to be done.
        unsafe { (self.gpu.driver.free)(self.address) };
    }
}

/// Writes the first bytes of memory that has a size.
pub(crate) fn write(gpu: &Gpu, (address, size): (Address, usize), bytes: &[u8]) -> Result<()> {
    assert!(bytes.len() <= size, "what is written fits");
    // SAFETY: the memory has at least so many bytes.
    let status = unsafe { (gpu.driver.copy_to_device)(address, bytes.as_ptr().cast(), bytes.len()) };
    gpu.driver.check("to write memory", status)
}

/// A point of time on a GPU.
pub(crate) struct Event<'g> {
    gpu: &'g Gpu,
    handle: Handle,
}

impl<'g> Event<'g> {
    pub(crate) fn new(gpu: &'g Gpu) -> Result<Self> {
        let mut handle = std::ptr::null_mut();
        // SAFETY: the result is writable.
        gpu.driver.check("an event", unsafe { (gpu.driver.create_event)(&raw mut handle, 0) })?;
        Ok(Self { gpu, handle })
    }

    pub(crate) fn record(&self) -> Result<()> {
        // SAFETY: the event is live.
        let status = unsafe { (self.gpu.driver.record_event)(self.handle, std::ptr::null_mut()) };
        self.gpu.driver.check("to record an event", status)
    }

    /// Waits for this event: microseconds since another one.
    pub(crate) fn us_since(&self, start: &Self) -> Result<f64> {
        let mut milliseconds = 0.0;
        // SAFETY: both events are live and recorded.
        let status = unsafe { (self.gpu.driver.synchronize_event)(self.handle) };
        self.gpu.driver.check("to run a kernel", status)?;
        let status = unsafe { (self.gpu.driver.elapsed)(&raw mut milliseconds, start.handle, self.handle) };
        self.gpu.driver.check("the time between events", status)?;
        Ok(f64::from(milliseconds) * 1e3)
    }
}

impl Drop for Event<'_> {
    fn drop(&mut self) {
        // SAFETY: the handle is live and not used again. A failure leaves nothing to be done.
        unsafe { (self.gpu.driver.destroy_event)(self.handle) };
    }
}

//! What a program is told about its GPU, from the machine file. What no file says and programs ask for is that of every
//! GPU of the last years, as the technical specifications of the CUDA C++ programming guide have it.

use std::sync::Arc;

use warplens_session::machines::{Key, Machine};
use warplens_session::predict::{self, Options};
use warplens_session::profile::{LaunchShape, RegistersBasis};

use crate::handles::Handle;
use crate::runtime::Runtime;
use crate::status::{Result, Status};

/// Version of CUDA that the driver claims, in its way of writing 13.0.
pub(crate) const DRIVER_VERSION: i32 = 13000;

/// What `cudaDeviceProp` and the attributes of the driver are filled from.
#[derive(Clone, PartialEq, Debug)]
pub struct Properties {
    /// Marketing name.
    pub name: String,
    /// Compute capability.
    pub major: u32,
    /// The same.
    pub minor: u32,
    /// Bytes of device memory that can be had here.
    pub memory: u64,
    /// Number of SMs.
    pub sms: u32,
    /// Clock in kHz.
    pub clock_khz: u32,
    /// Clock of the memory in kHz.
    pub memory_clock_khz: u32,
    /// Width of the memory interface in bits.
    pub bus_bits: u32,
    /// Bytes of the L2 cache.
    pub l2: u64,
    /// Threads of a block.
    pub max_threads_per_block: u32,
    /// Threads of an SM.
    pub max_threads_per_sm: u32,
    /// Blocks of an SM.
    pub max_blocks_per_sm: u32,
    /// Registers of a block.
    pub registers_per_block: u32,
    /// Registers of an SM.
    pub registers_per_sm: u32,
    /// Shared memory of a block, in bytes.
    pub shared_per_block: u64,
    /// The same for kernels that ask for more.
    pub shared_per_block_optin: u64,
    /// Shared memory of an SM, in bytes.
    pub shared_per_sm: u64,
    /// Shared memory that the system takes from each block, in bytes.
    pub shared_reserved: u64,
}

/// Number of an attribute of a device (`CUdevice_attribute`, `cudaDeviceAttr`).
pub type Attribute = i32;

impl Properties {
    pub(crate) fn of(machine: &Machine, memory: u64) -> Self {
        let number = |key: Key, default: f64| machine.number(key).unwrap_or(default);
        let count = |key: Key, default: u32| number(key, default.into()) as u32;
        let shared_per_block = number(Key::SharedMaxPerBlock, 48.0 * 1024.0) as u64;
        Self {
            name: machine.name.clone(),
            major: machine.cc.major.into(),
            minor: machine.cc.minor.into(),
            memory,
            sms: count(Key::SmCount, 1),
            clock_khz: (machine.clock().unwrap_or(1e9) / 1e3) as u32,
            memory_clock_khz: (number(Key::DramTransferRate, 2e9) / 2e3) as u32,
            bus_bits: count(Key::DramBusBits, 256),
            l2: number(Key::L2Size, 0.0) as u64,
            max_threads_per_block: count(Key::LimitsMaxThreadsPerBlock, 1024),
            max_threads_per_sm: count(Key::LimitsMaxThreads, 2048),
            max_blocks_per_sm: count(Key::LimitsMaxBlocks, 16),
            registers_per_block: count(Key::LimitsMaxRegistersPerBlock, 65536),
            registers_per_sm: count(Key::LimitsRegisters, 65536),
            shared_per_block,
            shared_per_block_optin: number(Key::SharedMaxPerBlockOptin, shared_per_block as f64) as u64,
            shared_per_sm: number(Key::SharedBytes, shared_per_block as f64) as u64,
            shared_reserved: number(Key::SharedReservedPerBlock, 0.0) as u64,
        }
    }

    /// The value of an attribute; none where the number stands for nothing.
    pub fn attribute(&self, attribute: Attribute) -> Option<i32> {
        let at_least = |major: u32| i32::from(self.major >= major);
        let narrow = |value: u64| i32::try_from(value).unwrap_or(i32::MAX);
        let count = |value: u32| narrow(value.into());
        Some(match attribute {
            1 => count(self.max_threads_per_block),
            2 | 3 => 1024,
            4 => 64,
            5 => i32::MAX,
            6 | 7 => 65535,
            8 => narrow(self.shared_per_block),
            9 => 65536,
            10 => 32,
            11 => i32::MAX,
            12 => count(self.registers_per_block),
            13 => count(self.clock_khz),
            14 => 512,
            15 => 1,
            16 => count(self.sms),
            // No limit of run time, not integrated, host memory can be mapped, the default mode of computing.
            17 | 18 | 20 => 0,
            19 => 1,
            30 => 512,
            31 => 1,
            32 => 0,
            33 => 1,
            34 | 50 => 0,
            35 => 0,
            36 => count(self.memory_clock_khz),
            37 => count(self.bus_bits),
            38 => narrow(self.l2),
            39 => count(self.max_threads_per_sm),
            40 => 3,
            41 => 1,
            51 => 32,
            75 => count(self.major),
            76 => count(self.minor),
            78..=80 => 1,
            81 => narrow(self.shared_per_sm),
            82 => count(self.registers_per_sm),
            83 => 1,
            84..=88 => 0,
            89 => 0,
            90 => at_least(6),
            // Launches that meet run as they are; peers, host pages and write-throughs are not there.
            95 => 1,
            96 => 0,
            97 => narrow(self.shared_per_block_optin),
            98..=101 => 0,
            102 => 0,
            106 => count(self.max_blocks_per_sm),
            111 => narrow(self.shared_reserved),
            115 => 1,
            120 => at_least(9),
            21..=29 | 42..=49 | 52..=74 | 77 | 91..=94 | 103..=105 | 107..=110 | 112..=114 | 116..=119 | 121..=150 => 0,
            _ => return None,
        })
    }
}

impl Runtime {
    /// What the program is told about its GPU.
    pub fn properties(&self) -> Arc<Properties> {
        Arc::clone(&self.properties)
    }

    /// Version of the driver.
    pub fn driver_version(&self) -> i32 {
        DRIVER_VERSION
    }

    /// Blocks of a kernel that an SM holds at once.
    pub fn resident_blocks(&mut self, function: Handle, threads: u32, dynamic_shared: u64) -> Result<u32> {
        if threads == 0 {
            return Err(Status::INVALID_VALUE);
        }
        let info = self.function_info(function)?;
        if threads > info.max_threads {
            return Ok(0);
        }
        let block = [threads, 1, 1];
        let (_, served) = self.served(function)?;
        let shape = LaunchShape {
            grid: [1; 3],
            block,
            cluster: None,
            shared_bytes: info.static_shared.saturating_add(dynamic_shared),
            registers: served.registers_in(block),
            registers_basis: RegistersBasis::Estimate,
        };
        let occupancy = predict::occupancy_of(&shape, self.machine(), Options::default());
        occupancy.map(|occupancy| occupancy.ctas).ok_or(Status::UNKNOWN)
    }

    /// Starts the device anew: its memory is empty, its clock at the start.
    pub fn reset(&mut self) -> Result<()> {
        self.alive()?;
        for (address, kind) in self.owned_by_program() {
            self.undisturbing()?;
            self.release(address, &[kind])?;
        }
        for address in self.registered.keys().copied().collect::<Vec<_>>() {
            self.unregister_host(address)?;
        }
        self.reset_streams();
        Ok(())
    }
}

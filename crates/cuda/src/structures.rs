//! Structures of the runtime API whose layout depends on its version.

use std::sync::atomic::{AtomicI32, Ordering};

use warplens_runtime::Properties;

/// The version whose structures a program was compiled with.
static MAJOR: AtomicI32 = AtomicI32::new(13);

/// Says with which version of the runtime API the program was compiled: each shared library says its own.
pub fn set_major_version(major: i32) {
    MAJOR.store(major, Ordering::Relaxed);
}

/// The version whose structures a program was compiled with.
pub(crate) fn major_version() -> i32 {
    MAJOR.load(Ordering::Relaxed)
}

/// Three extents.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Dim3 {
    x: u32,
    y: u32,
    z: u32,
}

impl Dim3 {
    pub(crate) fn extents(self) -> [u32; 3] {
        [self.x, self.y, self.z]
    }
}

/// `cudaLaunchAttribute` and `CUlaunchAttribute`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct LaunchAttribute {
    id: i32,
    padding: i32,
    /// A union of 64 bytes.
    value: [u32; 16],
}

/// What the attributes of a launch ask for that is known.
#[derive(Clone, Copy, Default)]
pub(crate) struct LaunchAttributes {
    pub(crate) cooperative: bool,
    pub(crate) cluster: Option<[u32; 3]>,
}

impl LaunchAttributes {
    pub(crate) fn add(&mut self, attribute: &LaunchAttribute) {
        match attribute.id {
            2 => self.cooperative = attribute.value[0] != 0,
            4 => self.cluster = Some([attribute.value[0], attribute.value[1], attribute.value[2]]),
            // What else there is says how fast something should be, not what is computed.
            _ => {}
        }
    }
}

/// A field of `cudaDeviceProp`: where it lies in version 12 and in version 13, how many bytes it has, and its value.
type Field = (usize, usize, usize, u64);

/// `cudaDeviceProp` as the program has it.
pub(crate) fn device_properties(properties: &Properties, major: i32) -> Vec<u8> {
    let Properties { memory, .. } = properties;
    let fields: &[Field] = &[
        (288, 288, 8, *memory),
        (296, 296, 8, properties.shared_per_block),
        (304, 304, 4, properties.registers_per_block.into()),
        (308, 308, 4, 32),
        (312, 312, 8, i32::MAX as u64),
        (320, 320, 4, properties.max_threads_per_block.into()),
        (324, 324, 4, 1024),
        (328, 328, 4, 1024),
        (332, 332, 4, 64),
        (336, 336, 4, i32::MAX as u64),
        (340, 340, 4, 65535),
        (344, 344, 4, 65535),
        (352, 352, 8, 65536),
        (360, 360, 4, properties.major.into()),
        (364, 364, 4, properties.minor.into()),
        (368, 368, 8, 512),
        (376, 376, 8, 32),
        (388, 384, 4, properties.sms.into()),
        // Memory of the host can be mapped, kernels of several streams may overlap, addresses are unified.
        (400, 392, 4, 1),
        (568, 552, 8, 512),
        (576, 560, 4, 1),
        (600, 584, 4, 3),
        (604, 588, 4, 1),
        (612, 592, 4, properties.bus_bits.into()),
        (616, 596, 4, properties.l2),
        (624, 604, 4, properties.max_threads_per_sm.into()),
        (628, 608, 4, 1),
        (632, 612, 4, 1),
        (636, 616, 4, 1),
        (640, 624, 8, properties.shared_per_sm),
        (648, 632, 4, properties.registers_per_sm.into()),
        (652, 636, 4, 1),
        (688, 668, 4, u64::from(properties.major >= 6)),
        (696, 672, 8, properties.shared_per_block_optin),
        (712, 688, 4, properties.max_blocks_per_sm.into()),
        (720, 696, 8, properties.shared_reserved),
    ];
    let mut bytes = vec![0; if major < 13 { 1032 } else { 1008 }];
    let name = properties.name.as_bytes();
    let name = &name[..name.len().min(255)];
    bytes[..name.len()].copy_from_slice(name);
    for &(twelve, thirteen, width, value) in fields {
        let at = if major < 13 { twelve } else { thirteen };
        bytes[at..at + width].copy_from_slice(&value.to_le_bytes()[..width]);
    }
    if major < 13 {
        for (at, value) in [(348, properties.clock_khz), (384, 1), (608, properties.memory_clock_khz)] {
            bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        }
    }
    bytes
}

/// `cudaPointerAttributes`: kind (0 none, 1 host, 2 device, 3 managed), device, address on the device and on the host.
pub(crate) fn pointer_attributes(kind: u32, device: u64, host: u64, major: i32) -> Vec<u8> {
    let mut bytes = vec![0; if major < 13 { 24 } else { 88 }];
    bytes[..4].copy_from_slice(&kind.to_le_bytes());
    bytes[8..16].copy_from_slice(&device.to_le_bytes());
    bytes[16..24].copy_from_slice(&host.to_le_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use warplens_runtime::{Config, NoMemory, Runtime};

    #[test]
    fn properties_lie_where_each_version_has_them() {
        let config = Config::from_environment(&|_| ());
        let properties = Runtime::new(config, Box::new(NoMemory)).properties();
        let at = |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        let (twelve, thirteen) = (device_properties(&properties, 12), device_properties(&properties, 13));
        assert_eq!((twelve.len(), thirteen.len()), (1032, 1008));
        assert_eq!((at(&twelve, 388), at(&thirteen, 384)), (properties.sms, properties.sms));
        assert_eq!(
            (at(&twelve, 624), at(&thirteen, 604)),
            (properties.max_threads_per_sm, properties.max_threads_per_sm)
        );
    }
}

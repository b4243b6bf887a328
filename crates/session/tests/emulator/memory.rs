//! Buffers of unusual sizes: none at all, and more than 32-bit offsets can say.

use std::sync::atomic::AtomicU64;

use warplens_exec::{BarrierRule, BufferId, Device, ExecError, Launch, Program, Schedule};

const COPY: &str = "
.version 8.8 .target sm_90 .address_size 64
.visible .entry copy(.param .u64 from, .param .u64 to, .param .u64 stride)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [from];
    ld.param.u64 %rd2, [to];
    ld.param.u64 %rd3, [stride];
    mov.u32 %r1, %tid.x;
    cvt.u64.u32 %rd4, %r1;
    mad.lo.u64 %rd5, %rd4, %rd3, %rd1;
    ld.global.u32 %r2, [%rd5];
    add.u32 %r2, %r2, %r1;
    st.global.u32 [%rd5], %r2;
    mad.lo.u64 %rd6, %rd4, 4, %rd2;
    st.global.u32 [%rd6], %r2;
    ret;
}";

/// Runs one warp that reads and writes a word every `stride` bytes from `from` on, and copies them to a buffer.
fn copy(device: &mut Device, from: u64, stride: u64) -> Result<Vec<u32>, ExecError> {
    let (module, _) = warplens_ptx::load(COPY);
    let module = module.unwrap();
    let (kernel, _) = module.kernels().next().unwrap();
    let to = device.allocate("to", 128).unwrap();
    let image = device.load(&module).unwrap();
    let program = Program::new(&module, image, kernel, device).unwrap();
    let parameters = [from, device.buffer(to).base, stride].iter().flat_map(|word| word.to_le_bytes()).collect();
    let launch = Launch {
        grid: [1; 3],
        block: [32, 1, 1],
        cluster: None,
        dynamic_shared: 0,
        parameters,
        ctas: None,
        budget: 1000,
        launch_budget: u64::MAX,
        resident_ctas: 1,
        threads: 1,
        schedule: Schedule::Any,
        allow_unsupported: false,
        allow_overreads: false,
        barriers: BarrierRule::Threads,
        tensor_cores: warplens_exec::TensorCores::default(),
    };
    warplens_exec::launch(&program, device, &launch, (), &AtomicU64::new(0))?;
    Ok(words(&device.read(to, 0, 128)))
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}

fn device() -> Device {
    Device::new(64, u64::MAX)
}

fn word(device: &Device, buffer: BufferId, offset: u64) -> u32 {
    words(&device.read(buffer, offset, 4))[0]
}

#[test]
fn offsets_have_more_than_32_bits() {
    const SIZE: u64 = (4 << 30) + (600 << 20);
    let mut device = device();
    // Only the pages that are touched take memory.
    let large = device.allocate("large", SIZE).unwrap();
    let base = device.buffer(large).base;
    for (start, stride) in [
        (0, 0x900_0000),
        ((4 << 30) - 64, 4),
        ((4 << 30) - (16 << 20), 1 << 20),
        ((4 << 30) + 4096, 4),
        (SIZE - 128, 4),
        (0x8000_0000 - 64, 4),
    ] {
        for lane in 0..32u64 {
            device.write(large, start + lane * stride, &(1000 * lane as u32).to_le_bytes());
        }
        let copied = copy(&mut device, base + start, stride).unwrap();
        let expected: Vec<u32> = (0..32).map(|lane| 1001 * lane).collect();
        assert_eq!(copied, expected, "from {start:#x} by {stride:#x}");
        let stored: Vec<u32> = (0..32).map(|lane| word(&device, large, start + lane * stride)).collect();
        assert_eq!(stored, expected, "from {start:#x} by {stride:#x}");
    }
    // Lanes far apart, in descending order.
    for lane in 0..32u64 {
        device.write(large, SIZE - 4 - lane * 0x900_0000, &7u32.to_le_bytes());
    }
    let copied = copy(&mut device, base + SIZE - 4, 0x900_0000u64.wrapping_neg()).unwrap();
    assert_eq!(copied, (0..32).map(|lane| 7 + lane).collect::<Vec<_>>());
    let error = copy(&mut device, base + SIZE - 124, 4).unwrap_err();
    assert_eq!(
        error.to_string(),
        "out-of-bounds global load of 4 bytes at 0x7f0125801000 by block (0,0,0) thread (31,0,0): 0 bytes after the \
         end of `large`, which has 4924112896 bytes"
    );
}

#[test]
fn buffers_may_be_empty() {
    let mut device = device();
    let before = device.allocate("before", 64).unwrap();
    let empty = device.allocate("empty", 0).unwrap();
    let after = device.allocate("after", 64).unwrap();
    let bases = [before, empty, after].map(|buffer| device.buffer(buffer).base);
    assert!(bases[0] + 64 <= bases[1] && bases[1] < bases[2], "{bases:x?}");
    assert!(device.read(empty, 0, 0).is_empty());
    let error = copy(&mut device, bases[1], 4).unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("out-of-bounds global load of 4 bytes"), "{text}");
    let error = copy(&mut device, 0, 0).unwrap_err();
    assert_eq!(error.to_string(), "null-pointer global load of 4 bytes at 0x0 by block (0,0,0) thread (0,0,0)");
}

#[test]
fn lanes_may_touch_several_buffers() {
    let mut device = device();
    let buffers: Vec<BufferId> = (0..32).map(|index| device.allocate(&format!("b{index}"), 4).unwrap()).collect();
    let stride = device.buffer(buffers[1]).base - device.buffer(buffers[0]).base;
    let base = device.buffer(buffers[0]).base;
    for (index, &buffer) in buffers.iter().enumerate() {
        assert_eq!(device.buffer(buffer).base, base + index as u64 * stride);
        device.write(buffer, 0, &(10 * index as u32).to_le_bytes());
    }
    let expected: Vec<u32> = (0..32).map(|lane| 11 * lane).collect();
    assert_eq!(copy(&mut device, base, stride).unwrap(), expected);
    assert_eq!(buffers.iter().map(|&buffer| word(&device, buffer, 0)).collect::<Vec<_>>(), expected);
}

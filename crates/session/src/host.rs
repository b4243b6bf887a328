//! What this computer can bear.

/// Bytes that buffers may take: most of the memory that is free, or a fixed amount where that is not told.
pub fn memory_for_buffers() -> u64 {
    const UNKNOWN: u64 = 16 << 30;
    // Linux tells what can be had without swapping. Buffers are held twice while they are filled.
    let available = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
        let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        Some(kilobytes * 1024)
    });
    available.map_or(UNKNOWN, |bytes| bytes / 5 * 2)
}

//! Files with machine code: read or refused, with all that is read when it is asked for; and lowered.

#![no_main]

use libfuzzer_sys::fuzz_target;
use warplens_sass::container::{Cubin, fatbin, read};

fuzz_target!(|bytes: &[u8]| {
    for image in read(bytes).unwrap_or_default() {
        let _ = image.ptx();
        if let Ok(cubin) = image.cubin() {
            look_up(&cubin);
            let _ = warplens_sass::lower::lower(&cubin);
        }
    }
    for container in fatbin::within(bytes) {
        let _ = fatbin::entries(container);
    }
});

/// Asks for the lines of all code and for what variables hold.
fn look_up(cubin: &Cubin) {
    let lines = cubin.lines().unwrap_or_default();
    for kernel in &cubin.kernels {
        let function = &kernel.function;
        assert_eq!(cubin.code(function).len() as u64, function.bytes);
        for offset in (function.offset..function.offset + function.bytes).step_by(16) {
            if let Some(row) = lines.at(function.section, offset) {
                let _ = (lines.callers(row).count(), lines.function(row), row.file.and_then(|file| lines.path(file)));
            }
            let _ = lines.ptx_line(function.section, offset).and_then(|line| lines.ptx_text(line));
        }
    }
    for variable in &cubin.variables {
        let _ = cubin.initial(variable);
    }
}

//! Grids and blocks.

use warplens_base::error::{Error, Result};

/// CTAs of a grid or threads of a block, per axis.
pub type Extents = [u32; 3];

/// Largest grid, per axis (CUDA C++ programming guide, technical specifications, cc 3.0 and later).
const MAX_GRID: Extents = [i32::MAX as u32, 65_535, 65_535];
/// Largest block, per axis (the same table).
const MAX_BLOCK: Extents = [1024, 1024, 64];
/// Most threads of a block (the same table).
const MAX_THREADS: u64 = 1024;

/// Reads `X`, `X,Y` or `X,Y,Z`; `what` names the flag in messages.
pub fn parse_extents(what: &str, text: &str) -> Result<Extents> {
    let parts: Vec<&str> = text.split([',', 'x']).collect();
    let numbers: Option<Vec<u64>> = parts.iter().map(|part| parse_extent(part.trim())).collect();
    let numbers = numbers.ok_or_else(|| {
        Error::usage(format!("{what}: `{text}` is not X, X,Y or X,Y,Z"))
            .with_help(format!("write for example {what} 256 or {what} 16,16"))
    })?;
    extents(what, &numbers)
}

/// One extent; a power of two may be written as a shift.
fn parse_extent(text: &str) -> Option<u64> {
    match text.split_once("<<") {
        Some((value, shift)) => {
            let (value, shift): (u64, u32) = (value.trim().parse().ok()?, shift.trim().parse().ok()?);
            value.checked_mul(1u64.checked_shl(shift)?)
        }
        None => text.parse().ok(),
    }
}

/// One to three numbers as extents; the rest is 1.
pub(crate) fn extents(what: &str, numbers: &[u64]) -> Result<Extents> {
    if numbers.is_empty() || numbers.len() > 3 {
        return Err(Error::usage(format!("{what} has one to three extents, not {}", numbers.len())));
    }
    let mut extents = [1; 3];
    for (extent, &number) in extents.iter_mut().zip(numbers) {
        *extent =
            u32::try_from(number).map_err(|_| Error::usage(format!("{what}: {number} is too large an extent")))?;
    }
    Ok(extents)
}

/// Refuses what no GPU can launch.
pub fn check(grid: Extents, block: Extents) -> Result<()> {
    check_axes("grid", grid, MAX_GRID)?;
    check_axes("block", block, MAX_BLOCK)?;
    let n_threads: u64 = block.iter().map(|&extent| u64::from(extent)).product();
    if n_threads > MAX_THREADS {
        return Err(Error::usage(format!(
            "impossible block {}: {n_threads} threads, and no GPU has more than {MAX_THREADS} in a block",
            show(block)
        )));
    }
    Ok(())
}

fn check_axes(what: &str, extents: Extents, limits: Extents) -> Result<()> {
    for ((axis, extent), limit) in ["x", "y", "z"].into_iter().zip(extents).zip(limits) {
        if extent == 0 {
            return Err(Error::usage(format!("impossible {what} {}: its {axis} extent is 0", show(extents))));
        }
        if extent > limit {
            let shown = show(extents);
            return Err(Error::usage(format!("impossible {what} {shown}: its {axis} extent is more than {limit}")));
        }
    }
    Ok(())
}

/// Extents as messages show them.
pub(crate) fn show([x, y, z]: Extents) -> String {
    format!("{x} x {y} x {z}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_extents_are_one() {
        let parse = |text| parse_extents("--grid", text).map_err(|error| error.message);
        assert_eq!(parse("4096"), Ok([4096, 1, 1]));
        assert_eq!(parse("16, 8"), Ok([16, 8, 1]));
        assert_eq!(parse("1<<20"), Ok([1 << 20, 1, 1]));
        assert_eq!(parse("1,2,3"), Ok([1, 2, 3]));
        assert_eq!(parse("1,2,3,4"), Err("--grid has one to three extents, not 4".into()));
        assert_eq!(parse("a"), Err("--grid: `a` is not X, X,Y or X,Y,Z".into()));
        assert_eq!(parse("5000000000"), Err("--grid: 5000000000 is too large an extent".into()));
    }

    #[test]
    fn impossible_launches_are_refused() {
        let check = |grid, block| check(grid, block).map_err(|error| error.message);
        assert_eq!(check([i32::MAX as u32, 65_535, 65_535], [32, 32, 1]), Ok(()));
        let grid_y = "impossible grid 1 x 65536 x 1: its y extent is more than 65535";
        assert_eq!(check([1, 65_536, 1], [1, 1, 1]), Err(grid_y.into()));
        assert_eq!(check([0, 1, 1], [1, 1, 1]), Err("impossible grid 0 x 1 x 1: its x extent is 0".into()));
        let block_z = "impossible block 1 x 1 x 65: its z extent is more than 64";
        assert_eq!(check([1, 1, 1], [1, 1, 65]), Err(block_z.into()));
        let threads = "impossible block 32 x 32 x 2: 2048 threads, and no GPU has more than 1024 in a block";
        assert_eq!(check([1, 1, 1], [32, 32, 2]), Err(threads.into()));
    }
}

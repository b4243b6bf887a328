//! Files of a user. What is read is bounded and remembered, and what is written goes over nothing that was read.
//!
//! All reading and writing of files that a user names goes through here; files of our own, such as those in scratch
//! folders, need none of this.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use warplens_base::error::{Error, Result};

/// Bytes of the largest input; beyond is no file that somebody made.
const MOST_BYTES: u64 = 2 << 30;

/// The files that this process has read.
static READ: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Forgets what was read, where a process begins with work that has inputs of its own.
pub fn forget_read() {
    READ.lock().expect("no holder of the lock panics").clear();
}

/// The bytes of a file. A device is refused, as it may have no end.
pub fn read(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    let path = path.as_ref();
    let file = std::fs::File::open(path)?;
    let kind = file.metadata()?.file_type();
    if !kind.is_file() && !kind.is_dir() && !is_pipe(kind) {
        return Err(io::Error::other("it is a device, not a file"));
    }
    let bytes = read_up_to(MOST_BYTES, file)?;
    if let Ok(path) = path.canonicalize() {
        READ.lock().expect("no holder of the lock panics").insert(path);
    }
    Ok(bytes)
}

/// The text of a file.
pub fn read_to_string(path: impl AsRef<Path>) -> io::Result<String> {
    String::from_utf8(read(path)?).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// What standard input brings.
pub fn read_stdin() -> io::Result<Vec<u8>> {
    read_up_to(MOST_BYTES, io::stdin())
}

#[cfg(unix)]
fn is_pipe(kind: std::fs::FileType) -> bool {
    std::os::unix::fs::FileTypeExt::is_fifo(&kind)
}

#[cfg(not(unix))]
fn is_pipe(_: std::fs::FileType) -> bool {
    false
}

fn read_up_to(most: u64, from: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(most + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > most {
        true => Err(io::Error::other(format!("it holds more than {most} bytes"))),
        false => Ok(bytes),
    }
}

/// What to do where there is a file already.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Existing {
    /// It stays.
    Keep,
    /// It is written over, unless it is one that was read.
    Replace,
}

/// Refuses to write where something would be lost. A device or a pipe loses nothing.
pub fn check_writable(path: &Path, existing: Existing) -> Result<()> {
    if !path.is_file() {
        return Ok(());
    }
    let was_read =
        path.canonicalize().is_ok_and(|own| READ.lock().expect("no holder of the lock panics").contains(&own));
    if was_read {
        return Err(Error::usage(format!("{} is an input, which nothing is written over", path.display())));
    }
    match existing {
        Existing::Replace => Ok(()),
        Existing::Keep => Err(Error::usage(format!("{} is there already", path.display()))
            .with_help("`--force` writes over it, another name keeps it")),
    }
}

/// Writes a file.
pub fn write(path: &Path, bytes: &[u8], existing: Existing) -> Result<()> {
    check_writable(path, existing)?;
    std::fs::write(path, bytes).map_err(|error| Error::input(format!("cannot write {}: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost() {
        let folder = tempfile::tempdir().unwrap();
        let (own, other) = (folder.path().join("own"), folder.path().join("other"));
        let refused = |path: &Path, existing| write(path, b"new", existing).unwrap_err().to_string();
        write(&own, b"first", Existing::Keep).unwrap();
        assert!(refused(&own, Existing::Keep).contains("is there already"));
        write(&own, b"second", Existing::Replace).unwrap();
        assert_eq!(read(&own).unwrap(), b"second");
        // By whatever name it is called.
        let beside = folder.path().join(".").join("own");
        assert!(refused(&beside, Existing::Replace).contains("is an input"));
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(&own, &other).unwrap();
            assert!(refused(&other, Existing::Replace).contains("is an input"));
        }
        assert_eq!(std::fs::read(&own).unwrap(), b"second");
    }

    #[cfg(unix)]
    #[test]
    fn what_has_no_end_is_refused_and_loses_nothing() {
        assert_eq!(read("/dev/zero").unwrap_err().to_string(), "it is a device, not a file");
        write(Path::new("/dev/null"), b"text", Existing::Keep).unwrap();
        assert_eq!(read_up_to(3, &b"1234"[..]).unwrap_err().to_string(), "it holds more than 3 bytes");
        assert_eq!(read_up_to(4, &b"1234"[..]).unwrap(), b"1234");
    }
}

//! The pieces of an archive: files named by the hash of their content.

use std::collections::BTreeSet;
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};
use warplens_document::archive::ArchivedContent;

use super::PIECE;

/// The folder of the pieces.
const PIECES: &str = "pieces";

/// The folder of an archive that is written.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    known: BTreeSet<String>,
    /// Bytes on disk.
    bytes: u64,
    /// Most bytes on disk.
    limit: u64,
}

/// Whether something could be kept.
#[derive(Clone, PartialEq, Debug)]
pub enum Kept<T> {
    /// It is on disk.
    Whole(T),
    /// The archive would be larger than it may be.
    TooLarge,
}

fn name_of(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn path(folder: &Path, name: &str) -> PathBuf {
    folder.join(PIECES).join(name)
}

impl Store {
    /// An archive in a folder, which other processes of the program may write, too.
    pub fn new(folder: &Path, limit: u64) -> Result<Self> {
        std::fs::create_dir_all(folder.join(PIECES))?;
        Ok(Self { folder: folder.to_owned(), known: BTreeSet::new(), bytes: 0, limit })
    }

    /// Most bytes that it may take on disk.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Keeps some bytes.
    pub fn keep(&mut self, bytes: &[u8]) -> Result<Kept<ArchivedContent>> {
        let mut pieces = Vec::with_capacity(bytes.len().div_ceil(PIECE));
        for piece in bytes.chunks(PIECE) {
            if piece.iter().all(|&byte| byte == 0) {
                pieces.push(None);
                continue;
            }
            match self.keep_piece(piece)? {
                Kept::Whole(name) => pieces.push(Some(name)),
                Kept::TooLarge => return Ok(Kept::TooLarge),
            }
        }
        Ok(Kept::Whole(ArchivedContent { bytes: bytes.len() as u64, pieces }))
    }

    fn keep_piece(&mut self, piece: &[u8]) -> Result<Kept<String>> {
        let name = name_of(piece);
        if self.known.contains(&name) {
            return Ok(Kept::Whole(name));
        }
        let path = path(&self.folder, &name);
        if !path.exists() {
            let packed = lz4_flex::block::compress_prepend_size(piece);
            if self.bytes + packed.len() as u64 > self.limit {
                return Ok(Kept::TooLarge);
            }
            self.bytes += packed.len() as u64;
            // Who reads it finds all of it or nothing.
            let written = path.with_extension(std::process::id().to_string());
            std::fs::write(&written, packed)?;
            std::fs::rename(&written, &path)?;
        }
        self.known.insert(name.clone());
        Ok(Kept::Whole(name))
    }
}

/// Reads some bytes of an archive.
pub(super) fn read(folder: &Path, content: &ArchivedContent) -> Result<Vec<u8>> {
    let damaged = |what: String| Error::new(ErrorKind::InvalidData, what);
    let length =
        usize::try_from(content.bytes).map_err(|_| damaged(format!("{} bytes are too many", content.bytes)))?;
    if content.pieces.len() != length.div_ceil(PIECE) {
        return Err(damaged(format!("{length} bytes do not lie in {} pieces", content.pieces.len())));
    }
    let mut bytes = Vec::new();
    for piece in &content.pieces {
        let wanted = (length - bytes.len()).min(PIECE);
        match piece {
            None => bytes.resize(bytes.len() + wanted, 0),
            Some(name) => bytes.extend(read_piece(folder, name, wanted)?),
        }
    }
    Ok(bytes)
}

fn read_piece(folder: &Path, name: &str, wanted: usize) -> Result<Vec<u8>> {
    let damaged = |what: &str| Error::new(ErrorKind::InvalidData, format!("piece {name} {what}"));
    // A name is no way out of the folder.
    if name.len() != 64 || !name.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(damaged("has no name of a piece"));
    }
    let packed = std::fs::read(path(folder, name)).map_err(|error| match error.kind() {
        ErrorKind::NotFound => Error::new(ErrorKind::NotFound, format!("piece {name} is missing")),
        _ => error,
    })?;
    let length = packed.first_chunk().map(|bytes: &[u8; 4]| u32::from_le_bytes(*bytes) as usize);
    if length != Some(wanted) {
        return Err(damaged("is damaged: its length is another one"));
    }
    let bytes = lz4_flex::block::decompress_size_prepended(&packed).map_err(|_| damaged("is damaged"))?;
    if name_of(&bytes) == name { Ok(bytes) } else { Err(damaged("is damaged: it holds something else")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some(length: usize) -> Vec<u8> {
        (0..length).map(|at| (at / 7 * 31 % 251) as u8).collect()
    }

    #[test]
    fn what_is_kept_comes_back_and_is_kept_once() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::new(folder.path(), 1 << 30).unwrap();
        let bytes = [some(PIECE), vec![0; PIECE], some(PIECE), some(1000)].concat();
        let Kept::Whole(content) = store.keep(&bytes).unwrap() else { panic!("there is room") };
        assert_eq!((content.pieces.len(), content.pieces[1].as_ref()), (4, None));
        assert_eq!(content.pieces[0], content.pieces[2]);
        assert_eq!(read(folder.path(), &content).unwrap(), bytes);
        assert_eq!(std::fs::read_dir(folder.path().join(PIECES)).unwrap().count(), 2);
        let Kept::Whole(empty) = store.keep(&[]).unwrap() else { panic!("nothing takes no room") };
        assert!(read(folder.path(), &empty).unwrap().is_empty());
    }

    #[test]
    fn an_archive_is_no_larger_than_it_may_be() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::new(folder.path(), 20).unwrap();
        assert_eq!(store.keep(&some(5000)).unwrap(), Kept::TooLarge);
        assert!(matches!(store.keep(&[1, 2, 3]).unwrap(), Kept::Whole(_)));
    }

    #[test]
    fn damage_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::new(folder.path(), 1 << 20).unwrap();
        let Kept::Whole(content) = store.keep(&some(5000)).unwrap() else { panic!("there is room") };
        let message = |content: &ArchivedContent| read(folder.path(), content).unwrap_err().to_string();
        let named = |name: &str| ArchivedContent { pieces: vec![Some(name.to_owned())], ..content.clone() };
        assert!(message(&ArchivedContent { bytes: u64::MAX, ..content.clone() }).contains("do not lie in 1 pieces"));
        assert!(message(&ArchivedContent { bytes: 4999, ..content.clone() }).contains("its length is another one"));
        assert!(message(&named("../../etc/passwd")).contains("has no name of a piece"));
        assert!(message(&named(&"0".repeat(64))).contains("is missing"));
        let path = path(folder.path(), content.pieces[0].as_ref().unwrap());
        let packed = std::fs::read(&path).unwrap();
        for (at, words) in [(3, "its length is another one"), (packed.len() / 2, "is damaged"), (20, "is damaged")] {
            let mut other = packed.clone();
            other[at] ^= 0x55;
            std::fs::write(&path, other).unwrap();
            assert!(message(&content).contains(words), "{at}");
        }
        std::fs::write(&path, &packed[..packed.len() - 1]).unwrap();
        assert!(message(&content).contains("is damaged"));
    }
}

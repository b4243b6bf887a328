//! Reads inputs and tells what they are.

use std::path::{Path, PathBuf};

use crate::files;
use warplens_base::error::{Error, Result};

/// The index of an archive, in its folder.
pub(crate) const ARCHIVE_INDEX: &str = "index.json";

/// What an input is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum InputKind {
    /// PTX text.
    Ptx,
    /// CUDA C++ text.
    CudaSource,
    /// Machine code for one target.
    Cubin,
    /// A container of machine code and PTX.
    Fatbin,
    /// A program or library of the host.
    Executable,
    /// A profile in JSON.
    Profile,
    /// What the command-line profiler of old drivers wrote (Compute Visual Profiler).
    VisualProfilerLog,
    /// What Nsight Compute printed as CSV.
    NsightCsv,
    /// A report of Nsight Compute.
    NsightReport,
    /// Launches of a program that were kept: a folder with an index.
    Archive,
    /// A launch file whose launches name their inputs.
    Script,
    /// An execution trace.
    Trace,
    /// Text that is none of these.
    OtherText,
    /// Bytes that are none of these.
    OtherBinary,
}

impl InputKind {
    /// What messages call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ptx => "PTX",
            Self::CudaSource => "CUDA C++",
            Self::Cubin => "a cubin (GPU machine code)",
            Self::Fatbin => "a fatbin (a container of GPU code)",
            Self::Executable => "an executable or library",
            Self::Profile => "a profile",
            Self::VisualProfilerLog => "a log of the CUDA Visual Profiler",
            Self::NsightCsv => "a CSV table of Nsight Compute",
            Self::NsightReport => "a report of Nsight Compute",
            Self::Archive => "an archive of launches",
            Self::Script => "a script of launches",
            Self::Trace => "a trace",
            Self::OtherText => "text that is neither PTX nor CUDA C++",
            Self::OtherBinary => "a binary file of no known kind",
        }
    }

    /// True for what may hold code of several GPUs.
    pub const fn holds_code(self) -> bool {
        matches!(self, Self::Fatbin | Self::Executable)
    }

    /// True for what holds the counts of launches that ran before.
    pub const fn is_counted(self) -> bool {
        matches!(self, Self::Profile | Self::VisualProfilerLog | Self::NsightCsv | Self::NsightReport)
    }
}

/// An input in memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Input {
    /// What messages call it.
    pub name: String,
    /// Where it lies, unless it came through standard input.
    pub path: Option<PathBuf>,
    /// What it is.
    pub kind: InputKind,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

impl Input {
    /// Reads a file, or standard input for `-`.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        if path == Path::new("-") {
            let bytes =
                files::read_stdin().map_err(|error| Error::input(format!("cannot read standard input: {error}")))?;
            return Self::new("<stdin>", None, bytes);
        }
        if let Some(archive) = Self::archive(path)? {
            return Ok(archive);
        }
        let bytes = files::read(path).map_err(|error| read_error(path, &error))?;
        Self::new(&path.to_string_lossy(), Some(path.to_owned()), bytes)
    }

    /// A folder with an index of launches, or `FOLDER#NUMBER` for one of them.
    fn archive(path: &Path) -> Result<Option<Self>> {
        let name = path.to_string_lossy().into_owned();
        let (folder, number) = match name.rsplit_once('#') {
            Some((folder, number)) if !path.exists() => (PathBuf::from(folder), Some(number)),
            _ => (path.to_owned(), None),
        };
        let index = folder.join(ARCHIVE_INDEX);
        if !folder.is_dir() || number.is_none() && !index.is_file() {
            return Ok(None);
        }
        if let Some(number) = number.filter(|number| number.parse::<usize>().is_err()) {
            return Err(Error::usage(format!("{name}: `{number}` is no number of a launch")));
        }
        let bytes = files::read(&index).map_err(|error| read_error(&index, &error))?;
        Ok(Some(Self { name, path: Some(folder), kind: InputKind::Archive, bytes }))
    }

    /// The number of the launch that an archive is asked for, if it is one alone.
    pub(crate) fn launch_number(&self) -> Option<usize> {
        let folder = self.path.as_ref()?.to_string_lossy();
        self.name.strip_prefix(&*folder)?.strip_prefix('#')?.parse().ok()
    }

    /// An input from bytes.
    pub fn new(name: &str, path: Option<PathBuf>, bytes: Vec<u8>) -> Result<Self> {
        if bytes.is_empty() {
            return Err(Error::input(format!("{name} is empty")));
        }
        let kind = detect(path.as_deref(), &bytes);
        Ok(Self { name: name.to_owned(), path, kind, bytes })
    }

    /// The text of an input that is text. PTX of old compilers may hold bytes beyond ASCII in comments.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    fn has_extension(&self, extension: &str) -> bool {
        self.path.as_ref().and_then(|path| path.extension()).is_some_and(|own| own == extension)
    }

    /// The error for an input that cannot be taken where PTX is wanted.
    pub fn unusable(&self) -> Error {
        let error = Error::input(format!("{} is {}; PTX or CUDA C++ is needed", self.name, self.kind.name()));
        match self.kind {
            InputKind::Cubin => error.with_help("a cubin holds no PTX; compile with `nvcc -ptx` to get it"),
            InputKind::Fatbin | InputKind::Executable => {
                error.with_help(format!("if PTX was embedded, `cuobjdump -ptx {}` extracts it", self.name))
            }
            kind if kind.is_counted() => {
                error.with_help("`warplens predict` and `warplens profile` read it; nothing in it can be executed")
            }
            InputKind::Script => error.with_help("`warplens predict` and `warplens profile` read it"),
            InputKind::Archive => error
                .with_help("verbs that ask about a launch read it, such as `warplens predict` and `warplens explain`"),
            InputKind::OtherText if self.has_extension("toml") => {
                error.with_help("a launch file goes behind `--launch`, and the code of its kernel before it")
            }
            InputKind::OtherText => error.with_help("PTX has .version and .target directives; CUDA C++ is named *.cu"),
            _ => error,
        }
    }
}

/// The text of a file beside the input. `what` is what the file is to be, such as a launch file.
pub fn read_text(path: impl AsRef<Path>, what: &str) -> Result<String> {
    let path = path.as_ref();
    let bytes = files::read(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Error::input(format!("{}: no such {what}", path.display())),
        _ => read_error(path, &error),
    })?;
    String::from_utf8(bytes).map_err(|_| Error::input(format!("{} is no text in UTF-8, and no {what}", path.display())))
}

fn read_error(wanted: &Path, error: &std::io::Error) -> Error {
    use std::io::ErrorKind::{IsADirectory, NotFound, PermissionDenied};
    let path = wanted.display();
    let message = match error.kind() {
        NotFound => format!("{path}: no such file"),
        IsADirectory => format!("{path} is a folder, not a file"),
        PermissionDenied => format!("{path}: permission denied"),
        _ => format!("cannot read {path}: {error}"),
    };
    let all = Error::input(message);
    if error.kind() != NotFound {
        return all;
    }
    let folder = wanted.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
    let names: Vec<String> = std::fs::read_dir(folder)
        .map(|entries| entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect())
        .unwrap_or_default();
    let name = wanted.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
    names.sort_unstable();
    match warplens_base::nearest(&name, names).filter(|_| !name.is_empty()) {
        Some(near) => all.with_help(format!("did you mean {}?", wanted.with_file_name(near).display())),
        None => all,
    }
}

/// How much of a text is looked at.
const PROBE_BYTES: usize = 1 << 16;

fn detect(path: Option<&Path>, bytes: &[u8]) -> InputKind {
    if let Some(kind) = detect_magic(bytes) {
        return kind;
    }
    let probe = &bytes[..bytes.len().min(PROBE_BYTES)];
    let n_control = probe.iter().filter(|&&byte| byte < 32 && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c)).count();
    if probe.contains(&0) || n_control * 50 > probe.len() {
        return InputKind::OtherBinary;
    }
    let text = String::from_utf8_lossy(probe);
    let extension = path.and_then(Path::extension).map(|extension| extension.to_ascii_lowercase());
    let is_named = |names: &[&str]| extension.as_ref().is_some_and(|own| names.iter().any(|name| own == name));
    let has_directive = |name: &str| text.lines().any(|line| line.trim_start().starts_with(name));
    let is_object = text.trim_start_matches('\u{feff}').trim_start().starts_with('{');
    // Whoever edited a document may have sorted its keys.
    let names_schema = |name: &[u8]| is_object && bytes.windows(name.len()).any(|window| window == name);
    if names_schema(b"\"warplens.profile/") {
        InputKind::Profile
    } else if names_schema(b"\"warplens.trace/") {
        InputKind::Trace
    } else if warplens_import::is_visual_profiler_log(&text) {
        InputKind::VisualProfilerLog
    } else if warplens_import::is_nsight_csv(&text) {
        InputKind::NsightCsv
    } else if is_named(&["toml"]) && has_directive("[[launch]]") {
        InputKind::Script
    } else if is_named(&["ptx"]) || has_directive(".version") || has_directive(".target") {
        InputKind::Ptx
    } else if is_named(&["cu", "cuh"]) || text.contains("__global__") {
        InputKind::CudaSource
    } else {
        InputKind::OtherText
    }
}

fn detect_magic(bytes: &[u8]) -> Option<InputKind> {
    /// ELF machine number of NVIDIA GPUs.
    const EM_CUDA: u16 = 190;
    match bytes {
        [0x7f, b'E', b'L', b'F', ..] => {
            let machine = bytes.get(18..20).map(|field| u16::from_le_bytes([field[0], field[1]]));
            Some(if machine == Some(EM_CUDA) { InputKind::Cubin } else { InputKind::Executable })
        }
        // Magic numbers 0xba55ed50 of the container and 0x466243b1 of the wrapper around it, little endian.
        [0x50, 0xed, 0x55, 0xba, ..] | [0xb1, 0x43, 0x62, 0x46, ..] => Some(InputKind::Fatbin),
        [b'M', b'Z', _, _, ..] if bytes.contains(&0) => Some(InputKind::Executable),
        [b'N', b'V', b'R', 0, ..] => Some(InputKind::NsightReport),
        [0xcf | 0xce, 0xfa, 0xed, 0xfe, ..] => Some(InputKind::Executable),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_told_from_content_and_name() {
        let detect = |name: &str, bytes: &[u8]| detect(Some(Path::new(name)), bytes);
        let elf = |machine: u8| [&b"\x7fELF\x02\x01\x01"[..], &[0; 11], &[machine, 0], &[0; 8]].concat();
        let cases: [(&str, &[u8], InputKind); 14] = [
            ("a.ptx", b"// nothing", InputKind::Ptx),
            ("a.txt", b"//\n.version 8.0\n.target sm_80\n", InputKind::Ptx),
            ("a.cu", b"int main() {}", InputKind::CudaSource),
            ("a.txt", b"extern \"C\" __global__ void f() {}", InputKind::CudaSource),
            ("a", &elf(190), InputKind::Cubin),
            ("a", &elf(62), InputKind::Executable),
            ("a.cu", b"\x7fELF", InputKind::Executable),
            ("a", b"\x50\xed\x55\xba\x01\x00", InputKind::Fatbin),
            ("a.exe", b"MZ\x90\x00\x03\x00", InputKind::Executable),
            ("a.json", b"{\"schema\": \"warplens.profile/1\"}", InputKind::Profile),
            ("a.json", b"{\"schema\": \"warplens.trace/1\"}", InputKind::Trace),
            ("a.json", b"{}", InputKind::OtherText),
            ("a.ptx", b"\x00\x01\x02", InputKind::OtherBinary),
            ("a.ptx", b"\x89PNG\x1a\x04\x05", InputKind::OtherBinary),
        ];
        for (name, bytes, kind) in cases {
            assert_eq!(detect(name, bytes), kind, "{name} {:?}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn a_launch_file_in_place_of_an_input_is_told_where_it_goes() {
        let help = |name: &str| {
            let input = Input::new(name, Some(name.into()), b"kernel = \"add\"\n".to_vec()).unwrap();
            input.unusable().help.unwrap_or_default()
        };
        assert!(help("launch.toml").contains("--launch"), "{}", help("launch.toml"));
        assert!(help("launch.txt").contains(".version"), "{}", help("launch.txt"));
    }

    #[test]
    fn a_missing_file_suggests_its_neighbour() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
        std::fs::write(path("kernel.ptx"), "x").unwrap();
        let error = Input::read(path("kernl.ptx")).unwrap_err();
        assert_eq!(error.message, format!("{}: no such file", path("kernl.ptx")));
        assert_eq!(error.help, Some(format!("did you mean {}?", path("kernel.ptx"))));
        std::fs::write(path("empty.ptx"), "").unwrap();
        assert!(Input::read(path("empty.ptx")).unwrap_err().message.ends_with("is empty"));
    }
}

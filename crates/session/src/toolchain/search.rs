//! Where the compilers are looked for.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use warplens_machine::ComputeCapability;

use super::{Assemblies, CompilerFlags, TimeLimit};

/// The places to search, in order.
#[derive(Clone, Debug, Default)]
pub struct Search {
    /// Roots of toolkits: `$CUDA_HOME`, `$CUDA_PATH`.
    pub homes: Vec<PathBuf>,
    /// Folders of the `PATH`.
    pub path: Vec<PathBuf>,
    /// Folders of Python packages; asked for when nothing was found before.
    pub sites: OnceLock<Vec<PathBuf>>,
    /// How long a compiler that was found may take.
    pub limit: TimeLimit,
    /// What the compiler of CUDA C++ is told beside that.
    pub flags: CompilerFlags,
    /// What is made of PTX.
    pub code: CodeKind,
    /// What ptxas made so far: it is not asked twice for the same.
    pub assemblies: Assemblies,
}

/// The code of a kernel that is executed, and whose instructions are simulated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CodeKind {
    /// Machine code where the input has it for the GPU, else as [`Self::Generated`].
    #[default]
    Auto,
    /// PTX is executed, and machine code that is generated of it is simulated.
    Generated,
    /// Machine code is executed and simulated: that of the input, or what ptxas makes of its PTX for each GPU.
    Machine,
}

impl CodeKind {
    /// Every kind with its names, of which the first is its own. `ptx` is what is executed with generated code.
    pub const ALL: [(&'static str, Self); 4] =
        [("auto", Self::Auto), ("generated", Self::Generated), ("ptx", Self::Generated), ("machine", Self::Machine)];

    /// The kind of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(own, _)| *own == name).map(|(_, kind)| *kind)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }

    /// GPUs of this compute capability can have it: machine code is known from 7.5 on.
    pub fn serves(self, cc: ComputeCapability) -> bool {
        self != Self::Machine || cc >= ComputeCapability::new(7, 5)
    }
}

impl Search {
    /// The places that the environment names.
    pub fn from_environment() -> Self {
        let homes = ["CUDA_HOME", "CUDA_PATH"].iter().filter_map(std::env::var_os).map(PathBuf::from);
        let path = std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default();
        let homes = homes.filter(|home| !home.as_os_str().is_empty()).collect();
        Self {
            homes,
            path,
            sites: OnceLock::new(),
            limit: TimeLimit::from_environment(),
            flags: CompilerFlags::default(),
            code: CodeKind::default(),
            assemblies: Assemblies::default(),
        }
    }

    /// A program of the toolkit.
    pub fn program(&self, name: &str) -> Option<PathBuf> {
        let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
        let in_homes = self.homes.iter().map(|home| home.join("bin").join(&file));
        let on_path = self.path.iter().map(|folder| folder.join(&file));
        in_homes.chain(on_path).find(|path| is_file(path)).or_else(|| {
            self.packages().into_iter().map(|package| package.join("bin").join(&file)).find(|path| is_file(path))
        })
    }

    /// The NVRTC library.
    pub fn nvrtc(&self) -> Option<PathBuf> {
        let folders = ["lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib"];
        let in_homes = self.homes.iter().flat_map(|home| folders.map(|folder| home.join(folder)));
        // A toolkit whose nvcc is on the PATH has its libraries beside the folder of its programs.
        let beside =
            self.path.iter().filter(|folder| is_file(&folder.join("nvcc"))).filter_map(|folder| folder.parent());
        let beside = beside.flat_map(|home| folders.map(|folder| home.join(folder)));
        in_homes
            .chain(beside)
            .find_map(|folder| nvrtc_in(&folder))
            .or_else(|| self.packages().into_iter().find_map(|package| nvrtc_in(&package.join("lib"))))
    }

    /// Folders with the toolkit's headers.
    pub fn include_folders(&self) -> Vec<PathBuf> {
        let homes = self.homes.iter().cloned().chain(self.packages());
        homes.map(|home| home.join("include")).filter(|folder| folder.is_dir()).collect()
    }

    /// Folders of NVIDIA's Python packages, newest first: `nvidia/cu13` before `nvidia/cu12` and `nvidia/cuda_nvcc`.
    fn packages(&self) -> Vec<PathBuf> {
        let sites = self.sites.get_or_init(python_sites);
        let children = |site: &PathBuf| -> Vec<PathBuf> {
            let entries = std::fs::read_dir(site.join("nvidia"));
            let mut folders: Vec<PathBuf> =
                entries.map(|entries| entries.flatten().map(|entry| entry.path()).collect()).unwrap_or_default();
            folders.sort_by_key(|folder| std::cmp::Reverse(generation(folder)));
            folders
        };
        sites.iter().flat_map(children).collect()
    }
}

/// The number in `cu13`; 0 for the packages of older toolkits, which have one folder each.
fn generation(folder: &Path) -> u32 {
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    name.strip_prefix("cu").and_then(|number| number.parse().ok()).unwrap_or(0)
}

fn is_file(path: &Path) -> bool {
    path.is_file()
}

fn nvrtc_in(folder: &Path) -> Option<PathBuf> {
    let names = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names
        .filter(|name| name.starts_with("libnvrtc.so") || (name.starts_with("nvrtc64_") && name.ends_with(".dll")))
        .collect();
    names.sort();
    names.pop().map(|name| folder.join(name))
}

/// The folders of packages of the Python that this process belongs to, where it belongs to one.
static OWN_SITES: OnceLock<Vec<PathBuf>> = OnceLock::new();

/// Says in which folders the Python looks for packages that this process belongs to: no other Python is asked then.
pub fn know_python_sites(sites: Vec<PathBuf>) {
    // It belongs to one Python, which says the same again.
    let _ = OWN_SITES.set(sites);
}

/// Folders in which the user's Python looks for packages.
fn python_sites() -> Vec<PathBuf> {
    if let Some(own) = OWN_SITES.get() {
        return own.clone();
    }
    let mut sites: Vec<PathBuf> = ["python3", "python"]
        .iter()
        .find_map(|python| {
            let output = Command::new(python).args(["-c", "import sys; print('\\n'.join(sys.path))"]).output().ok()?;
            output
                .status
                .success()
                .then(|| String::from_utf8_lossy(&output.stdout).lines().map(PathBuf::from).collect())
        })
        .unwrap_or_default();
    // Without a Python that runs, its packages may still lie there.
    sites.extend(std::env::var_os("PYTHONPATH").iter().flat_map(std::env::split_paths));
    sites.retain(|site| !site.as_os_str().is_empty());
    sites
}

//! Names of kernels: as PTX has them and as C++ has them.

use warplens_base::error::{Error, Result};

/// A kernel by its names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KernelName {
    /// As PTX has it.
    pub mangled: String,
    /// As C++ has it, with parameter types.
    pub demangled: String,
}

impl KernelName {
    /// Demangles a name. One that C++ did not mangle stays as it is: `f` would be read as the type that it encodes.
    pub fn new(mangled: &str) -> Self {
        let demangled = Some(mangled)
            .filter(|name| name.starts_with("_Z"))
            .and_then(|name| cpp_demangle::Symbol::new(name).ok())
            .and_then(|symbol| symbol.demangle_with_options(&cpp_demangle::DemangleOptions::default()).ok())
            .unwrap_or_else(|| mangled.to_owned());
        Self { mangled: mangled.to_owned(), demangled }
    }

    /// The C++ name without return type, parameters, template arguments and namespaces.
    pub fn base(&self) -> &str {
        let name = without_arguments(&self.demangled);
        let name = name.split('<').next().unwrap_or(name);
        let name = name.rsplit(' ').next().unwrap_or(name);
        name.rsplit("::").next().unwrap_or(name)
    }

    /// The C++ name with namespaces and template arguments, without return type and parameters.
    fn qualified(&self) -> &str {
        let name = without_arguments(&self.demangled);
        // A return type stands before the first blank outside of template arguments.
        let template = name.find('<').unwrap_or(name.len());
        name[..template].rfind(' ').map_or(name, |blank| &name[blank + 1..])
    }

    /// True when `wanted` means this kernel: one of its names, or `regex:RE`.
    pub fn matches(&self, wanted: &str) -> Result<bool> {
        let Some(pattern) = wanted.strip_prefix("regex:") else { return Ok(self.is_called(wanted)) };
        let pattern = regex_lite::Regex::new(pattern)
            .map_err(|error| Error::usage(format!("--kernel regex:{pattern}: {error}")))?;
        Ok(pattern.is_match(&self.mangled) || pattern.is_match(&self.demangled))
    }

    fn is_called(&self, wanted: &str) -> bool {
        let qualified = self.qualified();
        let plain = qualified.split('<').next().unwrap_or(qualified);
        [self.mangled.as_str(), &self.demangled, without_arguments(&self.demangled), qualified, plain, self.base()]
            .contains(&wanted)
    }
}

/// A demangled name without its list of parameter types.
fn without_arguments(demangled: &str) -> &str {
    let Some(close) = demangled.rfind(')') else { return demangled };
    let mut depth = 0;
    for (at, c) in demangled[..=close].char_indices().rev() {
        match c {
            ')' => depth += 1,
            '(' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &demangled[..at];
        }
    }
    demangled
}

//! Studies as users write them.

use serde::Deserialize;
use warplens_base::error::{Error, Result};

use crate::toml_file;
use crate::tune::SpaceText;
use crate::tune::space::{Text, values_of};
use crate::tune::space_file::{SpaceTable, Values, space_text};
use crate::whatif::Scenario;

/// A study.
#[derive(Clone, PartialEq, Debug)]
pub struct Study {
    /// What messages call the file.
    pub name: String,
    /// References of GPUs, as a list for `--gpu`.
    pub gpus: String,
    /// Models, as for `--model`.
    pub model: String,
    /// Refuse where a machine parameter would have to be derived.
    pub strict: bool,
    /// The kernels.
    pub kernels: Vec<StudyKernel>,
    /// What is asked beside how things are.
    pub what_ifs: Vec<WhatIf>,
}

/// A kernel with what is varied.
#[derive(Clone, PartialEq, Debug)]
pub struct StudyKernel {
    /// What rows call it.
    pub name: String,
    /// Path of the program, beside the study.
    pub input: String,
    /// The kernel in the program, where there are several.
    pub kernel: Option<String>,
    /// Path of a launch file with what is not varied.
    pub launch: Option<String>,
    /// Arguments over those of the launch file; they may hold expressions in braces.
    pub arguments: Vec<String>,
    /// Registers per thread, where the user knows them.
    pub registers: Option<u32>,
    /// Target that CUDA C++ is compiled for.
    pub target: Option<String>,
    /// Sizes with their values.
    pub sizes: Vec<(String, Vec<String>)>,
    /// Macros, blocks, grids and shared memory.
    pub space: SpaceText,
}

/// A question about every configuration.
#[derive(Clone, PartialEq, Debug)]
pub struct WhatIf {
    /// What rows call it.
    pub name: String,
    /// The question.
    pub scenario: Scenario,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StudyTable {
    gpus: Values,
    #[serde(default = "auto")]
    model: String,
    #[serde(default)]
    strict: bool,
    #[serde(rename = "kernel")]
    kernels: Vec<KernelTable>,
    #[serde(default, rename = "whatif")]
    what_ifs: Vec<WhatIfTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KernelTable {
    name: Option<String>,
    input: String,
    kernel: Option<String>,
    launch: Option<String>,
    #[serde(default)]
    arguments: Vec<String>,
    registers: Option<u32>,
    target: Option<String>,
    #[serde(default)]
    sizes: std::collections::BTreeMap<String, Values>,
    #[serde(default)]
    space: SpaceTable,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WhatIfTable {
    name: String,
    #[serde(default)]
    set: Vec<String>,
    #[serde(default)]
    without: Vec<String>,
}

fn auto() -> String {
    "auto".to_owned()
}

impl Study {
    /// Reads the text of a study that is called `name` in messages.
    pub fn parse(name: &str, text: &str) -> Result<Self> {
        let table: StudyTable = toml_file::read(name, text)?;
        let kernels: Vec<StudyKernel> =
            table.kernels.into_iter().map(|kernel| read_kernel(name, kernel)).collect::<Result<_>>()?;
        let what_ifs: Vec<WhatIf> =
            table.what_ifs.into_iter().map(|what_if| read_what_if(name, what_if)).collect::<Result<_>>()?;
        only_once(name, "kernel", kernels.iter().map(|kernel| kernel.name.as_str()))?;
        only_once(name, "whatif", what_ifs.iter().map(|what_if| what_if.name.as_str()))?;
        if kernels.is_empty() {
            return Err(Error::usage(format!("{name}: there is no [[kernel]] to study")));
        }
        let (gpus, model, strict) = (table.gpus.into_text(), table.model, table.strict);
        Ok(Self { name: name.to_owned(), gpus, model, strict, kernels, what_ifs })
    }

    /// Names of all sizes and macros, each once, in the order of the study.
    pub fn value_names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for kernel in &self.kernels {
            let macros = kernel.space.macros.iter().filter_map(|text| Some(text.text.split_once('=')?.0.trim()));
            for name in kernel.sizes.iter().map(|(name, _)| name.as_str()).chain(macros) {
                if names.iter().all(|own| own != name) {
                    names.push(name.to_owned());
                }
            }
        }
        names
    }
}

fn read_kernel(study: &str, table: KernelTable) -> Result<StudyKernel> {
    let name = table.name.unwrap_or_else(|| stem(&table.input));
    let place = format!("{study}, kernel `{name}`");
    let mut sizes = Vec::new();
    for (size, values) in table.sizes {
        let values = values_of(&Text::new(format!("{place}, size {size}"), values.into_text()), &[])?;
        only_once(&format!("{place}, size {size}"), "value", values.iter().map(String::as_str))?;
        sizes.push((size, values));
    }
    Ok(StudyKernel {
        input: table.input,
        kernel: table.kernel,
        launch: table.launch,
        arguments: table.arguments,
        registers: table.registers,
        target: table.target,
        sizes,
        space: space_text(&place, table.space)?,
        name,
    })
}

fn read_what_if(study: &str, table: WhatIfTable) -> Result<WhatIf> {
    let place =
        |error: Error| Error { message: format!("{study}, whatif `{}`: {}", table.name, error.message), ..error };
    let scenario = Scenario::parse(&table.set, &table.without).map_err(place)?;
    if scenario.texts.is_empty() {
        return Err(place(Error::usage("nothing is asked").with_help("give `set` or `without`")));
    }
    if scenario.runs_again() {
        let error = Error::usage("another grid or block is another configuration");
        return Err(place(error.with_help("vary it in [kernel.space]")));
    }
    Ok(WhatIf { name: table.name, scenario })
}

fn only_once<'n>(place: &str, what: &str, names: impl Iterator<Item = &'n str>) -> Result<()> {
    let mut seen: Vec<&str> = Vec::new();
    for name in names {
        if seen.contains(&name) {
            return Err(Error::usage(format!("{place}: the {what} `{name}` is given twice")));
        }
        seen.push(name);
    }
    Ok(())
}

/// The end of a path without its ending.
fn stem(path: &str) -> String {
    let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
    file.rsplit_once('.').map_or(file, |(stem, _)| stem).to_owned()
}

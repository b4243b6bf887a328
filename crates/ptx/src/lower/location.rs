//! Which line of the program an instruction is of.
//!
//! Code of an inlined function has the line of that function, and the line of the call behind `inlined_at`, which may
//! lie in an inlined function again. A kernel that calls `atomicAdd` would so be told of a line in a header of the
//! toolkit. [`Places`] follows the calls outwards to the first line that is the user's.

use std::collections::HashMap;
use std::path::Path;

use warplens_ir::SourceLocation;

use super::module::ModuleLowering;
use crate::syntax::ast;

/// File, line and column, as `.loc` writes them.
type Place = [u32; 3];

/// Calls that are followed from one line; a text by hand may write more, and in circles.
const MOST_CALLS: usize = 64;

/// The places of a function that were inlined, each with the place of the call.
#[derive(Debug, Default)]
pub(super) struct Places {
    calls: HashMap<Place, Place>,
}

impl Places {
    /// The line that a `.loc` stands for; none for line 0, by which compilers mark what belongs to none. A place is the
    /// last `.loc` that names it, so that they are told in the order of the text.
    pub(super) fn follow(&mut self, loc: &ast::Loc<'_>, module: &ModuleLowering<'_, '_>) -> Option<SourceLocation> {
        let place = [loc.file, loc.line, loc.column];
        match loc.inlined.as_ref().and_then(|inlined| inlined.at) {
            Some(call) => self.calls.insert(place, call),
            None => self.calls.remove(&place),
        };
        let outwards = || std::iter::successors(Some(place), |place| self.calls.get(place).copied()).take(MOST_CALLS);
        let name = |[file, ..]: Place| Some(Path::new(&module.module.files[module.file(file)? as usize]));
        let kernel = outwards().last().and_then(name);
        let is_of_program =
            |&place: &Place| kernel.zip(name(place)).is_some_and(|(kernel, file)| lies_by(file, kernel));
        let is_line = |&[_, line, _]: &Place| line > 0;
        let [file, line, _] = outwards().filter(is_line).find(is_of_program).unwrap_or(place);
        (line > 0).then_some(SourceLocation { file: module.file(file)?, line })
    }
}

/// True for the file in which the outermost function stands, and for those in the same folder.
fn lies_by(file: &Path, kernel: &Path) -> bool {
    let folder = kernel.parent().filter(|folder| *folder != Path::new(""));
    file == kernel || folder.is_some_and(|folder| file.parent() == Some(folder))
}

#[cfg(test)]
mod tests {
    /// The lines of a kernel that executes one instruction behind each of some `.loc`.
    fn lines(files: [&str; 3], locs: &[&str]) -> Vec<String> {
        let mut text = ".version 8.8\n.target sm_80\n.address_size 64\n.entry k() {\n.reg .b32 %r<2>;\n".to_owned();
        for loc in locs {
            text += &format!(".loc {loc}\nmov.b32 %r1, 1;\n");
        }
        text += "ret;\n}\n";
        for (index, file) in files.iter().enumerate() {
            text += &format!(".file {} \"{file}\"\n", index + 1);
        }
        let (module, findings) = crate::load(&text);
        assert!(findings.is_empty(), "{findings:?}");
        let module = module.unwrap();
        let line = |at: &warplens_ir::SourceLocation| format!("{}:{}", module.files[at.file as usize], at.line);
        module.locations.values().take(locs.len()).map(line).collect()
    }

    #[test]
    fn code_of_a_header_is_of_the_line_that_calls_it() {
        for folder in ["", "/home/me/"] {
            let files = [&format!("{folder}k.cu"), "/cuda/include/atomics.hpp", "/cuda/include/impl.hpp"];
            let locs = [
                "1 9 3",
                "2 70 5, function_name $L__info_string0, inlined_at 1 9 3",
                "3 80 7, function_name $L__info_string1, inlined_at 2 70 5",
                // A function of the program's own, and a header in that.
                "1 4 1, function_name $L__info_string2, inlined_at 1 11 3",
                "2 70 5, function_name $L__info_string0, inlined_at 1 4 1",
                "1 12 3",
            ];
            let expected = [9, 9, 9, 4, 4, 12].map(|line| format!("{folder}k.cu:{line}"));
            assert_eq!(lines(files, &locs), expected);
        }
    }

    #[test]
    fn files_beside_that_of_the_kernel_are_of_the_program() {
        let files = ["/home/me/k.cu", "/home/me/help.cuh", "/home/me/.venv/include/atomics.hpp"];
        let locs = [
            "2 7 1, function_name $L__info_string0, inlined_at 1 9 3",
            "3 70 5, function_name $L__info_string1, inlined_at 2 7 1",
        ];
        assert_eq!(lines(files, &locs), ["/home/me/help.cuh:7", "/home/me/help.cuh:7"]);
    }

    #[test]
    fn line_0_is_none() {
        assert_eq!(lines(["k.cu", "a.h", "b.h"], &["1 7 1", "1 9 1", "1 0 0"]), ["k.cu:7", "k.cu:9"]);
        assert_eq!(lines(["k.cu", "a.h", "b.h"], &["1 0 0, inlined_at 1 8 2"]), ["k.cu:8"]);
    }

    #[test]
    fn calls_in_a_circle_end() {
        let locs = ["1 4 1, inlined_at 1 5 1", "1 5 1, inlined_at 1 4 1", "2 6 1, inlined_at 1 4 1"];
        assert_eq!(lines(["k.cu", "a.h", "b.h"], &locs), ["k.cu:4", "k.cu:5", "k.cu:4"]);
    }
}

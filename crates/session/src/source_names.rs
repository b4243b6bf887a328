//! Parameter names of kernels in CUDA C++. PTX numbers the parameters; users know them by name.

/// Names of the parameters of the kernel called `kernel` (without namespaces), if the source defines it and it has
/// `count` parameters.
pub(crate) fn parameter_names(source: &str, kernel: &str, count: usize) -> Option<Vec<String>> {
    let text = without_comments(source);
    let mut rest = text.as_str();
    while let Some(at) = rest.find("__global__") {
        rest = &rest[at + "__global__".len()..];
        let Some((name, list)) = declarator(rest) else { continue };
        let names: Vec<String> = split(list).into_iter().map(name_of).collect();
        if name == kernel && names.len() == count && names.iter().all(|name| !name.is_empty()) {
            return Some(names);
        }
    }
    None
}

/// Comments and preprocessor lines become blanks.
fn without_comments(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(at) = rest.find(['/', '"']) {
        out.push_str(&rest[..at]);
        let tail = &rest[at..];
        let skip = if tail.starts_with("//") {
            tail.find('\n').unwrap_or(tail.len())
        } else if tail.starts_with("/*") {
            tail.find("*/").map_or(tail.len(), |end| end + 2)
        } else {
            out.push_str(&tail[..1]);
            rest = &tail[1..];
            continue;
        };
        out.push(' ');
        rest = &tail[skip..];
    }
    out.push_str(rest);
    out.lines().filter(|line| !line.trim_start().starts_with('#')).collect::<Vec<_>>().join("\n")
}

/// Name and parameter list of the function declared at the start of `text`; attributes with arguments are skipped.
fn declarator(text: &str) -> Option<(&str, &str)> {
    let mut start = 0;
    loop {
        let open = start + text[start..].find(['(', ';', '{'])?;
        if !text[open..].starts_with('(') {
            return None;
        }
        let close = open + closing(&text[open..])?;
        let name = last_identifier(&text[..open]);
        if name.starts_with("__") && name.ends_with("__") {
            start = close + 1;
            continue;
        }
        return Some((name, &text[open + 1..close]));
    }
}

/// Position of the parenthesis that closes the one at the start.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// Splits at commas outside of brackets.
fn split(list: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0i32, 0);
    for (at, c) in list.char_indices() {
        match c {
            '(' | '<' | '[' | '{' => depth += 1,
            ')' | '>' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&list[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&list[start..]);
    parts.retain(|part| !matches!(part.trim(), "" | "void"));
    parts
}

fn name_of(parameter: &str) -> String {
    let declared = parameter.split('=').next().unwrap_or(parameter);
    let declared = declared.split('[').next().unwrap_or(declared);
    last_identifier(declared).to_owned()
}

fn last_identifier(text: &str) -> &str {
    let text = text.trim_end();
    let start = text
        .rfind(|c: char| !c.is_alphanumeric() && c != '_')
        .map_or(0, |at| at + text[at..].chars().next().map_or(1, char::len_utf8));
    &text[start..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_behind_attributes_types_and_comments() {
        let source = r#"
#include "x.h" // __global__ void fake(int a)
template <typename T, int N>
__global__ void __launch_bounds__(256, 2)
scale(T *__restrict__ out, const std::pair<int, T> *in /* , int old */, float factor = f(1, 2), int shape[3])
{ }
extern "C" __global__ void none(void) {}
__global__ static void one(const float* x);
"#;
        let names = |kernel, count| parameter_names(source, kernel, count).map(|names| names.join(" "));
        assert_eq!(names("scale", 4), Some("out in factor shape".into()));
        assert_eq!(names("none", 0), Some(String::new()));
        assert_eq!(names("one", 1), Some("x".into()));
        assert_eq!(names("one", 2), None);
        assert_eq!(names("fake", 1), None);
    }

    proptest::proptest! {
        #[test]
        fn no_source_makes_it_panic(text in "(__global__|[a-z(){}<>,;*/ \"\n#é]){0,40}") {
            let _ = parameter_names(&text, "a", 1);
        }
    }
}

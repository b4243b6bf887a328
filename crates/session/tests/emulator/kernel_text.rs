//! The PTX of literate cases, for all who run them.

/// Keys of a `toml` block that say what a launch leaves; the others are those of a launch file.
pub(crate) const OUTCOMES: [&str; 9] =
    ["stdout", "expect", "out", "error", "budget", "order", "order_dependent", "generation", "race"];

/// What goes before a block, on the line of its first instruction: line numbers in messages are those of the block.
const HEADER: &str = ".version 8.8 .target sm_90 .address_size 64 ";

const PROLOGUE: &str = "\
.visible .entry kernel(.param .u64 out) { \
.reg .pred %p<10>; .reg .b16 %h<10>; .reg .b32 %r<20>, %tid0; .reg .b64 %rd<20>, %out, %slot; \
.reg .f32 %f<10>; .reg .f64 %d<10>; \
ld.param.u64 %out, [out]; mov.u32 %tid0, %tid.x; mad.wide.u32 %slot, %tid0, 4, %out; ";

/// The module of a block: everything but the `.version` may be left out.
pub(crate) fn module_text(block: &str) -> String {
    let block = &with_strings(block);
    match block.trim_start() {
        text if text.starts_with(".version") => block.to_owned(),
        text if text.starts_with('.') && !text.starts_with(".reg") && !text.starts_with(".shared") => {
            format!("{HEADER}{block}")
        }
        _ => format!("{HEADER}{PROLOGUE}{block}\nret;\n}}\n"),
    }
}

/// Initial values written as `= "text"` as PTX has them: the bytes, and a zero.
fn with_strings(block: &str) -> String {
    let mut parts = block.split("= \"");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (string, rest) = part.split_once("\";").expect("strings end on their line");
        let bytes = string.replace("\\n", "\n").into_bytes();
        let bytes: Vec<String> = bytes.iter().chain([&0]).map(u8::to_string).collect();
        text += &format!("= {{{}}};{rest}", bytes.join(", "));
    }
    text
}

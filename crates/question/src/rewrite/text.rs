//! PTX with other operations, to be run again.

/// The same with approximate division, square root and reciprocal of single precision; none where there is nothing to
/// change.
pub(crate) fn approximate(ptx: &str) -> Option<String> {
    let mut text = ptx.to_owned();
    for operation in ["div", "sqrt", "rcp"] {
        for (exact, approximate) in [("rn.f32", "approx.f32"), ("rn.ftz.f32", "approx.ftz.f32")] {
            text = text.replace(&format!("{operation}.{exact}"), &format!("{operation}.{approximate}"));
        }
    }
    text = text.replace("div.full.f32", "div.approx.f32");
    (text != ptx).then_some(text)
}

/// The same in single precision: what is loaded and stored stays double. None where nothing is double, or where its bits
/// are taken apart.
pub(crate) fn single(ptx: &str) -> Option<String> {
    if !ptx.contains(".f64") {
        return None;
    }
    let lines: Vec<String> = ptx.lines().map(single_line).collect::<Option<_>>()?;
    Some(lines.join("\n") + "\n")
}

fn single_line(line: &str) -> Option<String> {
    let code = line.trim_start();
    let guard = if code.starts_with('@') { code.split_whitespace().next().unwrap_or_default() } else { "" };
    let inst = code[guard.len()..].trim_start();
    let opcode = inst.split_whitespace().next().unwrap_or_default();
    let indent = &line[..line.len() - code.len()];
    if code.starts_with(".reg") {
        return Some(line.replace(".f64", ".f32"));
    }
    if opcode.starts_with("mov.b64") && inst.contains("%fd")
        || opcode.contains(".v2.f64")
        || opcode.starts_with("cvt.rzi.f64")
    {
        return None;
    }
    if !opcode.contains(".f64") || code.starts_with('.') {
        return Some(line.to_owned());
    }
    let operands = inst[opcode.len()..].trim();
    let is_memory = ["ld.", "st."].iter().any(|start| opcode.starts_with(start));
    if is_memory && opcode.contains(".param") {
        return Some(parameter(indent, guard, opcode, operands));
    }
    if opcode.starts_with("ld.") {
        let (register, address) = operands.trim_end_matches(';').split_once(',')?;
        return Some(format!(
            "{indent}{{ .reg .f64 wide; {guard} {opcode} wide, {}; cvt.rn.f32.f64 {register}, wide; }}",
            address.trim()
        ));
    }
    if opcode.starts_with("st.") {
        let (address, register) = operands.trim_end_matches(';').rsplit_once(',')?;
        let register = constants(register)?;
        return Some(format!(
            "{indent}{{ .reg .f64 wide; cvt.f64.f32 wide, {}; {guard} {opcode} {address}, wide; }}",
            register.trim()
        ));
    }
    if is_memory || opcode.starts_with("atom") || opcode.starts_with("red") {
        return None;
    }
    let opcode = match opcode {
        "cvt.f64.f32" => "mov.f32".to_owned(),
        _ if opcode.starts_with("cvt.") && opcode.ends_with(".f32.f64") => "mov.f32".to_owned(),
        _ if opcode.starts_with("rcp.approx") || opcode.starts_with("rsqrt.approx") => opcode.replace(".f64", ".f32"),
        _ => opcode.replace(".f64", ".f32"),
    };
    // A conversion of an integer is exact as double, and rounded as single.
    let opcode = if opcode.starts_with("cvt.f32.") { opcode.replacen("cvt.f32", "cvt.rn.f32", 1) } else { opcode };
    Some(format!("{indent}{guard} {opcode} {}", constants(operands)?))
}

fn parameter(indent: &str, guard: &str, opcode: &str, operands: &str) -> String {
    match operands.trim_end_matches(';').split_once(',') {
        Some((register, address)) if opcode.starts_with("ld.") => format!(
            "{indent}{{ .reg .f64 wide; {guard} {opcode} wide, {}; cvt.rn.f32.f64 {register}, wide; }}",
            address.trim()
        ),
        _ => format!("{indent}{guard} {opcode} {operands}"),
    }
}

/// Constants of double precision in single precision.
fn constants(operands: &str) -> Option<String> {
    let mut text = String::new();
    let mut rest = operands;
    while let Some(at) = rest.find("0d").or_else(|| rest.find("0D")) {
        let bits = u64::from_str_radix(rest.get(at + 2..at + 18)?, 16).ok()?;
        text.push_str(&rest[..at]);
        text.push_str(&format!("0f{:08X}", (f64::from_bits(bits) as f32).to_bits()));
        rest = &rest[at + 18..];
    }
    text.push_str(rest);
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_operations_become_approximate() {
        let ptx = "div.rn.f32 %f1, %f2, %f3;\nsqrt.rn.ftz.f32 %f1, %f2;\ndiv.rn.f64 %fd1, %fd2, %fd3;\n";
        let expected = "div.approx.f32 %f1, %f2, %f3;\nsqrt.approx.ftz.f32 %f1, %f2;\ndiv.rn.f64 %fd1, %fd2, %fd3;\n";
        assert_eq!(approximate(ptx).as_deref(), Some(expected));
        assert_eq!(approximate("add.f32 %f1, %f2, %f3;"), None);
    }

    #[test]
    fn double_arithmetic_becomes_single() {
        let ptx = ".reg .f64 %fd<4>;\ncvt.f64.f32 %fd1, %f1;\n@%p1 fma.rn.f64 %fd2, %fd1, 0d3FE0000000000000, %fd1;\ncvt.rn.f32.f64 %f2, %fd2;\n";
        let single = single(ptx).unwrap();
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let lines: Vec<String> = single.lines().map(words).collect();
        assert_eq!(
            lines,
            [
                ".reg .f32 %fd<4>;",
                "mov.f32 %fd1, %f1;",
                "@%p1 fma.rn.f32 %fd2, %fd1, 0f3F000000, %fd1;",
                "mov.f32 %f2, %fd2;"
            ]
        );
    }
}

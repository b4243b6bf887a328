//! The grammar of arguments.
//!
//! ```text
//! argument  = [ (NAME | INDEX) '=' ] value
//! value     = number | buffer | 'bytes(' HEX ')' | 'struct(' member {',' member} ')'
//!           | reference | 'none' | tensormap | object
//! reference = '&' [LAUNCH '.'] INDEX ['+' BYTES]
//! tensormap = 'tensormap(' (buffer | reference) ',' TYPE {',' field} ')'
//! buffer    = TYPE '[' [count] ']' [':' content]
//! count     = product {('+' | '-') product}
//! product   = number {'*' number}
//! content   = 'zeros' | 'iota' | 'fill(' number ')' | 'uniform(' LO ',' HI [',' SEED] ')'
//!           | 'values(' number {',' number} ')' | 'file(' PATH ')'
//! member    = [TYPE ':'] number | buffer | reference | 'none' | object
//! ```
//!
//! An object is a texture, surface or sampler, see [`texture`](crate::texture); the fields of a tensor map are in
//! [`tensor_map`].

use std::path::Path;

use warplens_base::Span;
use warplens_isa::{OpaqueType, TensorMap};

use crate::element::{ElementType, Number};
use crate::scanner::{Scanned, Scanner, ValueError, list};
use crate::tensor_map;
use crate::texture::{self, ObjectSettings};

/// Which parameter or variable a value is for.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Target {
    /// By position, from 0.
    Index(usize),
    /// By name, as the user wrote it.
    Name(String),
}

/// A value and what it is for.
#[derive(Clone, PartialEq, Debug)]
pub struct Argument {
    /// The parameter; `None` takes the next one.
    pub target: Option<Target>,
    /// The value.
    pub value: Value,
}

/// What a parameter is set to.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// A number, in the type of the parameter.
    Number(Number),
    /// The address of a buffer of its own.
    Buffer(Buffer),
    /// The bytes of the parameter.
    Bytes(Vec<u8>),
    /// The members of a structure, laid out as in C.
    Struct(Vec<Member>),
    /// An address inside a buffer of another argument.
    Reference(Reference),
    /// The 128 bytes that describe a tensor in a buffer.
    TensorMap(Box<TensorMapText>),
    /// The null pointer.
    Null,
    /// Content without a type and count; for variables, which have both.
    Content(Content),
    /// The handle of a texture, surface or sampler.
    Object(Box<ObjectValue>),
}

impl Value {
    /// Empties buffers of which the size is written.
    pub(crate) fn clear(&mut self) {
        match self {
            Self::Buffer(buffer) if buffer.count.is_some() => buffer.content = Content::Zeros,
            Self::Struct(members) => members.iter_mut().for_each(|member| member.value.clear()),
            Self::Object(object) => object.resource.iter_mut().for_each(Self::clear),
            Self::TensorMap(text) => text.resource.clear(),
            _ => {}
        }
    }
}

/// A texture, surface or sampler.
#[derive(Clone, PartialEq, Debug)]
pub struct ObjectValue {
    /// Its texels: a buffer or a reference to one; a sampler has none.
    pub resource: Option<Value>,
    /// What is said about it.
    pub settings: ObjectSettings,
}

/// A tensor map as written.
#[derive(Clone, PartialEq, Debug)]
pub struct TensorMapText {
    /// Where the tensor begins: a buffer or a reference to one.
    pub resource: Value,
    /// The map, at address 0.
    pub map: TensorMap,
}

/// A member of a structure.
#[derive(Clone, PartialEq, Debug)]
pub struct Member {
    /// Type of a number; by default 32-bit integers (64-bit where needed) and f32.
    pub ty: Option<ElementType>,
    /// A number, a buffer, a reference or null.
    pub value: Value,
}

/// A buffer in device memory.
#[derive(Clone, PartialEq, Debug)]
pub struct Buffer {
    /// Type of its elements.
    pub element: ElementType,
    /// Number of elements; `None` takes it from the content.
    pub count: Option<u64>,
    /// What it holds at the start.
    pub content: Content,
}

/// What a buffer holds at the start.
#[derive(Clone, PartialEq, Debug)]
pub enum Content {
    /// Zeros.
    Zeros,
    /// 0, 1, 2, ...
    Iota,
    /// One number everywhere.
    Fill(Number),
    /// Numbers drawn evenly from `low` to `high`.
    Uniform {
        /// Smallest.
        low: Number,
        /// Largest.
        high: Number,
        /// Start of the generator.
        seed: u64,
    },
    /// These numbers.
    Values(Vec<Number>),
    /// What a file holds: `.npy`, else raw bytes.
    File(String),
}

/// An address inside a buffer of another argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reference {
    /// Launch of the sequence, from 0; the first unless given.
    pub launch: usize,
    /// Argument, from 0.
    pub index: usize,
    /// Bytes from the start of what the argument points to.
    pub offset: u64,
}

impl Argument {
    /// Reads the text of `--arg` or of an entry of `args`.
    pub fn parse(text: &str) -> Scanned<Self> {
        let mut scanner = Scanner::new(text);
        let target = take_target(&mut scanner)?;
        let value = value(&mut scanner)?;
        scanner.end()?;
        Ok(Self { target, value })
    }

    /// Reads the text of `--symbol`: a name, and a value that may be content alone.
    pub fn parse_symbol(text: &str) -> Scanned<(String, Value)> {
        let mut scanner = Scanner::new(text);
        let Some(Target::Name(name)) = take_target(&mut scanner)? else {
            let help = "write for example --symbol coefficients=values(1,2,3)".to_owned();
            return Err(ValueError { help: Some(help), ..scanner.unexpected("NAME=VALUE") });
        };
        let value = match content(&mut scanner.clone()) {
            Ok(_) => Value::Content(content(&mut scanner)?),
            Err(_) => value(&mut scanner)?,
        };
        scanner.end()?;
        Ok((name, value))
    }
}

impl Value {
    /// Makes the paths of files relative to `folder`.
    pub(crate) fn resolve_files(&mut self, folder: &Path) {
        match self {
            Self::Buffer(Buffer { content: Content::File(path), .. }) | Self::Content(Content::File(path)) => {
                *path = folder.join(&*path).to_string_lossy().into_owned();
            }
            Self::Struct(members) => members.iter_mut().for_each(|member| member.value.resolve_files(folder)),
            Self::Object(object) => object.resource.iter_mut().for_each(|texels| texels.resolve_files(folder)),
            Self::TensorMap(text) => text.resource.resolve_files(folder),
            _ => {}
        }
    }
}

fn take_target(scanner: &mut Scanner<'_>) -> Scanned<Option<Target>> {
    let mut ahead = scanner.clone();
    let start = ahead.at();
    let name = ahead.take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '$' | '.' | '%'));
    if name.is_empty() || !ahead.take("=") {
        return Ok(None);
    }
    let target = if name.bytes().all(|byte| byte.is_ascii_digit()) {
        Target::Index(name.parse().map_err(|_| ahead.error_since(start, "no kernel has so many arguments"))?)
    } else {
        Target::Name(name.to_owned())
    };
    *scanner = ahead;
    Ok(Some(target))
}

fn value(scanner: &mut Scanner<'_>) -> Scanned<Value> {
    if scanner.take("&") {
        return reference(scanner).map(Value::Reference);
    }
    let mut ahead = scanner.clone();
    let start = ahead.at();
    let word = ahead.word();
    match word {
        "none" => {
            *scanner = ahead;
            Ok(Value::Null)
        }
        "bytes" => {
            *scanner = ahead;
            bytes(scanner).map(Value::Bytes)
        }
        "tensormap" => {
            *scanner = ahead;
            tensor_map_text(scanner).map(|text| Value::TensorMap(Box::new(text)))
        }
        "struct" => {
            *scanner = ahead;
            list(scanner, member).map(Value::Struct)
        }
        "texture" | "surface" | "sampler" => {
            *scanner = ahead;
            let kind = match word {
                "texture" => OpaqueType::Texture,
                "surface" => OpaqueType::Surface,
                _ => OpaqueType::Sampler,
            };
            object(scanner, kind).map(|object| Value::Object(Box::new(object)))
        }
        _ if ahead.take("[") => match ElementType::from_name(word) {
            Some(element) => {
                *scanner = ahead;
                buffer(scanner, element).map(Value::Buffer)
            }
            None => Err(unknown_type(Span::new(start as u32, (start + word.len()) as u32), word)),
        },
        _ if word.starts_with(|c: char| c.is_ascii_alphabetic()) && !matches!(word, "inf" | "nan") => {
            let mut error = ahead.error_since(start, format!("`{word}` is not a value"));
            error.help = Some(match ElementType::from_name(word) {
                Some(ty) => format!("a buffer has a count: {ty}[1024]"),
                None => {
                    "a value is a number, a buffer such as f32[1024]:iota, bytes(HEX), struct(V,...), &INDEX, texture(...), tensormap(...) or none"
                        .to_owned()
                }
            });
            Err(error)
        }
        _ => scanner.number().map(Value::Number),
    }
}

/// What follows the word `texture`, `surface` or `sampler`.
fn object(scanner: &mut Scanner<'_>, kind: OpaqueType) -> Scanned<ObjectValue> {
    scanner.expect("(")?;
    let resource = if kind == OpaqueType::Sampler { None } else { Some(resource(scanner, "the texels are")?) };
    Ok(ObjectValue { resource, settings: texture::settings(scanner, kind)? })
}

/// The texels of a texture or surface, or a tensor: a buffer or a reference.
fn resource(scanner: &mut Scanner<'_>, what: &str) -> Scanned<Value> {
    scanner.take("");
    let start = scanner.at();
    if scanner.take("&") {
        return reference(scanner).map(Value::Reference);
    }
    let word = scanner.word();
    match ElementType::from_name(word) {
        Some(element) if scanner.take("[") => buffer(scanner, element).map(Value::Buffer),
        _ => {
            let message = format!("{what} a buffer such as f32[64] or a reference such as &0");
            Err(scanner.error_since(start, message))
        }
    }
}

fn unknown_type(span: Span, word: &str) -> ValueError {
    let names = ElementType::ALL.map(ElementType::name).join(" ");
    ValueError { span, message: format!("unknown element type `{word}`"), help: Some(format!("the types are {names}")) }
}

/// What follows the opening bracket.
fn buffer(scanner: &mut Scanner<'_>, element: ElementType) -> Scanned<Buffer> {
    let start = scanner.at();
    let count = if scanner.take("]") {
        None
    } else {
        let count = u64::try_from(count(scanner)?).ok().filter(|&count| count > 0);
        let count =
            count.ok_or_else(|| scanner.error_since(start, "a buffer has a whole number of elements, at least 1"))?;
        scanner.expect("]")?;
        Some(count)
    };
    let content = if scanner.take(":") { content(scanner)? } else { Content::Zeros };
    if count.is_none() && !matches!(content, Content::Values(_) | Content::File(_)) {
        let mut error = scanner.error_since(start, "this buffer needs a count");
        error.help = Some(format!("only values(...) and file(...) say how long they are; write {element}[1024]"));
        return Err(error);
    }
    Ok(Buffer { element, count, content })
}

/// Sums and differences of products, such as `4096*1024` and `512*512+1`.
fn count(scanner: &mut Scanner<'_>) -> Scanned<i128> {
    let start = scanner.at();
    let too_large = |scanner: &Scanner<'_>| scanner.error_since(start, "this count is larger than any buffer");
    let mut sum = product(scanner)?;
    loop {
        let term = if scanner.take("+") {
            product(scanner)?
        } else if scanner.take("-") {
            -product(scanner)?
        } else {
            return Ok(sum);
        };
        // Every step is one that a count could have, so that nothing larger comes back into range.
        sum = sum.checked_add(term).filter(|sum| i64::try_from(*sum).is_ok()).ok_or_else(|| too_large(scanner))?;
    }
}

fn product(scanner: &mut Scanner<'_>) -> Scanned<i128> {
    let start = scanner.at();
    let factor = |scanner: &mut Scanner<'_>| match scanner.number()? {
        Number::Integer(factor) => Ok(factor),
        Number::Float(_) => Err(scanner.error_since(start, "a buffer has a whole number of elements, at least 1")),
    };
    let mut product = factor(scanner)?;
    while scanner.take("*") {
        let wider = product.checked_mul(factor(scanner)?).filter(|product| i64::try_from(*product).is_ok());
        product = wider.ok_or_else(|| scanner.error_since(start, "this count is larger than any buffer"))?;
    }
    Ok(product)
}

fn content(scanner: &mut Scanner<'_>) -> Scanned<Content> {
    let expected = "zeros, iota, fill(V), uniform(LO,HI[,SEED]), values(V,...) or file(PATH)";
    let mut ahead = scanner.clone();
    let word = ahead.word();
    let content = match word {
        "zeros" => Content::Zeros,
        "iota" => Content::Iota,
        "fill" => {
            ahead.expect("(")?;
            let number = ahead.number()?;
            ahead.expect(")")?;
            Content::Fill(number)
        }
        "uniform" => uniform(&mut ahead)?,
        "values" => Content::Values(list(&mut ahead, Scanner::number)?),
        "file" => Content::File(path(&mut ahead)?),
        _ => return Err(scanner.unexpected(expected)),
    };
    *scanner = ahead;
    Ok(content)
}

fn uniform(scanner: &mut Scanner<'_>) -> Scanned<Content> {
    scanner.expect("(")?;
    let start = scanner.at();
    let low = scanner.number()?;
    scanner.expect(",")?;
    let high = scanner.number()?;
    let bounds_are_fine = low.as_f64() <= high.as_f64() && (high.as_f64() - low.as_f64()).is_finite();
    if !bounds_are_fine {
        return Err(scanner.error_since(start, "the bounds of uniform must be finite and in order"));
    }
    let mut seed = 0;
    if scanner.take(",") {
        let start = scanner.at();
        seed = match scanner.number()? {
            Number::Integer(seed) => u64::try_from(seed).ok(),
            Number::Float(_) => None,
        }
        .ok_or_else(|| scanner.error_since(start, "a seed is a whole number of at most 64 bits"))?;
    }
    scanner.expect(")")?;
    Ok(Content::Uniform { low, high, seed })
}

/// A path may hold pairs of parentheses: it ends at the first one that closes none of its own.
fn path(scanner: &mut Scanner<'_>) -> Scanned<String> {
    scanner.expect("(")?;
    let mut open = 0;
    let end = scanner.rest().find(|c| {
        open += i32::from(c == '(') - i32::from(c == ')');
        open < 0
    });
    let Some(length) = end else {
        return Err(scanner.unexpected("PATH and `)`"));
    };
    let path = scanner.rest()[..length].trim().to_owned();
    if path.is_empty() {
        return Err(scanner.unexpected("a path"));
    }
    scanner.take(&path);
    scanner.expect(")")?;
    Ok(path)
}

fn member(scanner: &mut Scanner<'_>) -> Scanned<Member> {
    let mut ahead = scanner.clone();
    if let Some(ty) = ElementType::from_name(ahead.word())
        && ahead.take(":")
    {
        *scanner = ahead;
        return Ok(Member { ty: Some(ty), value: Value::Number(scanner.number()?) });
    }
    let mut ahead = scanner.clone();
    if matches!(ahead.word(), "struct" | "bytes" | "tensormap") {
        // Said before it is read: structures in structures could go deeper than the stack.
        let mut start = scanner.clone();
        start.take("");
        return Err(ahead.error_since(start.at(), "a member is a number, a buffer, a reference or none"));
    }
    Ok(Member { ty: None, value: value(scanner)? })
}

/// What follows the word `tensormap`: `(RESOURCE, TYPE, extents(N,...), box(N,...)[, ...])`.
fn tensor_map_text(scanner: &mut Scanner<'_>) -> Scanned<TensorMapText> {
    scanner.expect("(")?;
    let resource = resource(scanner, "a tensor is in")?;
    scanner.expect(",")?;
    let map = tensor_map::scan(scanner)?;
    scanner.expect(")")?;
    Ok(TensorMapText { resource, map })
}

fn bytes(scanner: &mut Scanner<'_>) -> Scanned<Vec<u8>> {
    scanner.expect("(")?;
    let start = scanner.at();
    let digits: String = scanner.take_while(|c| c.is_ascii_hexdigit() || c == ' ' || c == '_').replace([' ', '_'], "");
    if !digits.len().is_multiple_of(2) || digits.is_empty() {
        return Err(scanner.error_since(start, "bytes are written with two hexadecimal digits each"));
    }
    scanner.expect(")")?;
    let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).expect("only hexadecimal digits were taken");
    Ok((0..digits.len()).step_by(2).map(byte).collect())
}

/// What follows the ampersand.
fn reference(scanner: &mut Scanner<'_>) -> Scanned<Reference> {
    let first = position(scanner)?;
    let (launch, index) = if scanner.take(".") { (first, position(scanner)?) } else { (0, first) };
    let mut offset = 0;
    if scanner.take("+") {
        let start = scanner.at();
        offset = match scanner.number()? {
            Number::Integer(offset) => u64::try_from(offset).ok(),
            Number::Float(_) => None,
        }
        .ok_or_else(|| scanner.error_since(start, "an offset is a whole number of bytes"))?;
    }
    Ok(Reference { launch, index, offset })
}

fn position(scanner: &mut Scanner<'_>) -> Scanned<usize> {
    let start = scanner.at();
    let digits = scanner.take_while(|c| c.is_ascii_digit());
    if digits.is_empty() {
        return Err(scanner.unexpected("the index of an argument"));
    }
    digits.parse().map_err(|_| scanner.error_since(start, "no kernel has so many arguments"))
}

#[cfg(test)]
mod object_tests;

#[cfg(test)]
mod tests {
    use super::*;
    use Number::{Float, Integer};

    fn parse(text: &str) -> Argument {
        Argument::parse(text).unwrap_or_else(|error| panic!("{text}: {error:?}"))
    }

    fn buffer_of(text: &str) -> Buffer {
        match parse(text).value {
            Value::Buffer(buffer) => buffer,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn targets_are_names_or_positions() {
        assert_eq!(parse("n=1<<20").target, Some(Target::Name("n".into())));
        assert_eq!(parse("_Z3addPf_param_0 = 1").target, Some(Target::Name("_Z3addPf_param_0".into())));
        assert_eq!(parse("3=none"), Argument { target: Some(Target::Index(3)), value: Value::Null });
        assert_eq!(parse("-2.5"), Argument { target: None, value: Value::Number(Float(-2.5)) });
    }

    #[test]
    fn buffers_have_a_type_a_count_and_content() {
        let content = |text: &str| buffer_of(text).content;
        assert_eq!(
            buffer_of("a=f32[1<<20]"),
            Buffer { element: ElementType::F32, count: Some(1 << 20), content: Content::Zeros }
        );
        let count = |text: &str| buffer_of(text).count;
        assert_eq!(count("f32[4096*1024]"), Some(4 << 20));
        assert_eq!(count("f32[ 2*3 + 1<<4*2 - 1 ]"), Some(2 * 3 + (1 << 4) * 2 - 1));
        assert_eq!(content("u8[4]:iota"), Content::Iota);
        assert_eq!(content("u8[4]:fill(0xff)"), Content::Fill(Integer(255)));
        assert_eq!(
            content("f64[4]:uniform(-1, 1.5)"),
            Content::Uniform { low: Integer(-1), high: Float(1.5), seed: 0 }
        );
        assert_eq!(content("f64[4]:uniform(0,1,7)"), Content::Uniform { low: Integer(0), high: Integer(1), seed: 7 });
        assert_eq!(content("s32[2]:values(1,-2)"), Content::Values(vec![Integer(1), Integer(-2)]));
        assert_eq!(content("s32[]:file(a (1).npy)"), Content::File("a (1).npy".into()));
        assert_eq!(content("s32[8]:file(x=y.bin)"), Content::File("x=y.bin".into()));
        let Value::Struct(members) = parse("struct(s32[]:file(a (1).npy), 3)").value else { panic!("a structure") };
        assert!(
            matches!(&members[0].value, Value::Buffer(buffer) if buffer.content == Content::File("a (1).npy".into()))
        );
    }

    #[test]
    fn references_structures_and_bytes() {
        let value = |text: &str| parse(text).value;
        assert_eq!(value("&0"), Value::Reference(Reference { launch: 0, index: 0, offset: 0 }));
        assert_eq!(value("&2.1+0x40"), Value::Reference(Reference { launch: 2, index: 1, offset: 64 }));
        assert_eq!(value("bytes(00ff 7f)"), Value::Bytes(vec![0, 255, 127]));
        let number = |ty, number| Member { ty, value: Value::Number(number) };
        let pointer = Member { ty: None, value: Value::Reference(Reference { launch: 0, index: 1, offset: 0 }) };
        assert_eq!(
            value("struct(1, 2.5, u8:3, &1)"),
            Value::Struct(vec![
                number(None, Integer(1)),
                number(None, Float(2.5)),
                number(Some(ElementType::U8), Integer(3)),
                pointer
            ])
        );
    }

    #[test]
    fn symbols_take_content_alone() {
        let symbol = |text| Argument::parse_symbol(text);
        assert_eq!(
            symbol("k=values(1,2)"),
            Ok(("k".into(), Value::Content(Content::Values(vec![Integer(1), Integer(2)]))))
        );
        assert_eq!(symbol("scale=2.5"), Ok(("scale".into(), Value::Number(Float(2.5)))));
        assert_eq!(symbol("2.5").map_err(|error| error.message), Err("expected NAME=VALUE, found `2`".into()));
    }

    #[test]
    fn errors_say_what_and_where() {
        let cases = [
            ("f33[4]", 0, "unknown element type `f33`"),
            ("a=f32[", 6, "expected a number, but the value ends"),
            ("f32[1<<]", 7, "expected a number, found `]`"),
            ("f32[0]", 4, "a buffer has a whole number of elements, at least 1"),
            ("f32[-1]", 4, "a buffer has a whole number of elements, at least 1"),
            ("f32[2.5]", 4, "a buffer has a whole number of elements, at least 1"),
            ("f32[]", 4, "this buffer needs a count"),
            ("f32[4*]", 6, "expected a number, found `]`"),
            ("f32[4**2]", 6, "expected a number, found `*`"),
            ("f32[2*1.5]", 4, "a buffer has a whole number of elements, at least 1"),
            ("f32[2-3]", 4, "a buffer has a whole number of elements, at least 1"),
            ("f32[1<<40*1<<40]", 4, "this count is larger than any buffer"),
            ("f32[9223372036854775807+1]", 4, "this count is larger than any buffer"),
            (
                "f32[4]:ones",
                7,
                "expected zeros, iota, fill(V), uniform(LO,HI[,SEED]), values(V,...) or file(PATH), found `o`",
            ),
            ("f32[4]:uniform(1)", 16, "expected `,`, found `)`"),
            ("f32[4]:uniform(2,1)", 15, "the bounds of uniform must be finite and in order"),
            ("f32[4]:uniform(0,1,-1)", 19, "a seed is a whole number of at most 64 bits"),
            ("f32[4]:values(1,)", 16, "expected a number, found `)`"),
            ("f32[4]:values(1;2)", 15, "expected `,` or `)`, found `;`"),
            ("bytes(0ff)", 6, "bytes are written with two hexadecimal digits each"),
            ("struct(struct(1))", 7, "a member is a number, a buffer, a reference or none"),
            ("s32[]:file(a(b)", 11, "expected PATH and `)`, found `a`"),
            ("struct(1, bytes(00))", 10, "a member is a number, a buffer, a reference or none"),
            ("&x", 1, "expected the index of an argument, found `x`"),
            ("f32", 0, "`f32` is not a value"),
            ("", 0, "expected a number, but the value ends"),
        ];
        for (text, at, message) in cases {
            let error = Argument::parse(text).expect_err(text);
            assert_eq!((error.span.start, error.message.as_str()), (at, message), "{text}");
        }
    }

    #[test]
    fn nesting_is_no_way_to_use_the_stack_up() {
        let error = Argument::parse(&"struct(".repeat(1_000_000)).unwrap_err();
        assert_eq!(
            (error.span, error.message.as_str()),
            (Span::new(7, 13), "a member is a number, a buffer, a reference or none")
        );
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "([a-z0-9&=+.,:<\\[\\]() _-]|f32\\[|values\\(|1<<|é){0,20}") {
            for error in Argument::parse(&text).err().into_iter().chain(Argument::parse_symbol(&text).err()) {
                assert!(text.get(error.span.range()).is_some(), "{text:?} {error:?}");
            }
        }
    }
}

//! NumPy array files: versions 1 to 3 of the header, C order, little endian.

use crate::element::ElementType;

const MAGIC: &[u8] = b"\x93NUMPY";

/// A file's elements, in C order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Array<'b> {
    pub element: ElementType,
    pub count: u64,
    pub bytes: &'b [u8],
}

/// Reads a `.npy` file. The error is a clause about the file.
pub fn read(file: &[u8]) -> Result<Array<'_>, String> {
    let (header, data) = split_header(file).ok_or("is not a NumPy array file")?;
    let descr = string_after(header, "descr").ok_or("has a NumPy header without a plain element type")?;
    if header_value(header, "fortran_order").is_some_and(|value| value.starts_with("True")) {
        return Err("is in Fortran order; save it with numpy.ascontiguousarray".into());
    }
    let element = element_of(descr).ok_or_else(|| format!("holds elements of type {descr:?}, which no buffer has"))?;
    let shape = header_value(header, "shape").and_then(|value| value.strip_prefix('(')?.split(')').next());
    let extents =
        shape.ok_or("has a NumPy header without a shape")?.split(',').map(str::trim).filter(|text| !text.is_empty());
    let count = extents
        .map(|extent| extent.parse::<u64>().ok())
        .try_fold(1u64, |product, extent| product.checked_mul(extent?))
        .ok_or("has a NumPy header with an impossible shape")?;
    let n_bytes = count.checked_mul(element.bytes() as u64).and_then(|n_bytes| usize::try_from(n_bytes).ok());
    let bytes = n_bytes.and_then(|n_bytes| data.get(..n_bytes)).ok_or("ends before its last element")?;
    Ok(Array { element, count, bytes })
}

/// Writes a one-dimensional `.npy` file. NumPy has no bf16: such elements are widened to f32, which loses nothing.
pub fn write(element: ElementType, bytes: &[u8]) -> Vec<u8> {
    let count = bytes.len() / element.bytes();
    let header = format!("{{'descr': '{}', 'fortran_order': False, 'shape': ({count},), }}", descr_of(element));
    // Magic, version and length take 10 bytes; the data start at a multiple of 64, after a newline.
    let padded = (10 + header.len() + 1).next_multiple_of(64) - 10;
    let mut file = Vec::with_capacity(10 + padded + bytes.len());
    file.extend_from_slice(MAGIC);
    file.extend_from_slice(&[1, 0]);
    file.extend_from_slice(&u16::try_from(padded).expect("the header is one short line").to_le_bytes());
    file.extend_from_slice(header.as_bytes());
    file.resize(10 + padded - 1, b' ');
    file.push(b'\n');
    if element == ElementType::Bf16 {
        // The upper half of an f32 is its bf16.
        file.extend(bytes.chunks_exact(2).flat_map(|half| [0, 0, half[0], half[1]]));
    } else {
        file.extend_from_slice(bytes);
    }
    file
}

fn split_header(file: &[u8]) -> Option<(&str, &[u8])> {
    let rest = file.strip_prefix(MAGIC)?;
    let (version, rest) = (rest.first()?, rest.get(2..)?);
    let (length, rest) = match version {
        1 => (usize::from(u16::from_le_bytes(rest.get(..2)?.try_into().ok()?)), &rest[2..]),
        2 | 3 => (usize::try_from(u32::from_le_bytes(rest.get(..4)?.try_into().ok()?)).ok()?, &rest[4..]),
        _ => return None,
    };
    Some((std::str::from_utf8(rest.get(..length)?).ok()?, &rest[length..]))
}

/// What follows `'key':` in the header.
fn header_value<'h>(header: &'h str, key: &str) -> Option<&'h str> {
    let after = ['\'', '"'].iter().find_map(|quote| header.split_once(&format!("{quote}{key}{quote}")))?.1;
    Some(after.trim_start().strip_prefix(':')?.trim_start())
}

fn string_after<'h>(header: &'h str, key: &str) -> Option<&'h str> {
    let value = header_value(header, key)?;
    let quote = value.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    value[1..].split(quote).next()
}

fn element_of(descr: &str) -> Option<ElementType> {
    let narrow = ["|u1", "|i1", "|b1"].contains(&descr);
    let code = descr.strip_prefix('<').or(descr.strip_prefix('|').filter(|_| narrow))?;
    Some(match code {
        "u1" | "b1" => ElementType::U8,
        "i1" => ElementType::S8,
        "u2" => ElementType::U16,
        "i2" => ElementType::S16,
        "u4" => ElementType::U32,
        "i4" => ElementType::S32,
        "u8" => ElementType::U64,
        "i8" => ElementType::S64,
        "f2" => ElementType::F16,
        "f4" => ElementType::F32,
        "f8" => ElementType::F64,
        _ => return None,
    })
}

const fn descr_of(element: ElementType) -> &'static str {
    match element {
        ElementType::U8 => "|u1",
        ElementType::S8 => "|i1",
        ElementType::U16 => "<u2",
        ElementType::S16 => "<i2",
        ElementType::U32 => "<u4",
        ElementType::S32 => "<i4",
        ElementType::U64 => "<u8",
        ElementType::S64 => "<i8",
        ElementType::F16 => "<f2",
        ElementType::Bf16 | ElementType::F32 => "<f4",
        ElementType::F64 => "<f8",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_files_read_back() {
        for element in ElementType::ALL.into_iter().filter(|&element| element != ElementType::Bf16) {
            let bytes: Vec<u8> = (0..3 * element.bytes() as u8).collect();
            let file = write(element, &bytes);
            assert_eq!(read(&file), Ok(Array { element, count: 3, bytes: &bytes }));
            assert_eq!((file.len() - bytes.len()) % 64, 0);
        }
    }

    #[test]
    fn bf16_is_widened() {
        let one = 1f32.to_le_bytes();
        let file = write(ElementType::Bf16, &one[2..]);
        assert_eq!(read(&file), Ok(Array { element: ElementType::F32, count: 1, bytes: &one }));
    }

    #[test]
    fn headers_of_other_writers() {
        let file = |version: &[u8], header: &str| {
            let length: &[u8] = if version[0] == 1 {
                &(header.len() as u16).to_le_bytes()
            } else {
                &(header.len() as u32).to_le_bytes()
            };
            [MAGIC, version, length, header.as_bytes(), &[1, 2, 3, 4, 5, 6, 7, 8]].concat()
        };
        let count = |version: &[u8], header: &str| read(&file(version, header)).map(|array| array.count);
        assert_eq!(count(&[2, 0], "{\"shape\": (2, 1), \"fortran_order\": False, \"descr\": \"<i4\"}\n"), Ok(2));
        assert_eq!(count(&[1, 0], "{'descr':'<f8','fortran_order':False,'shape':()}"), Ok(1));
        assert!(count(&[1, 0], "{'descr':'>f8','fortran_order':False,'shape':()}").is_err());
        assert!(count(&[1, 0], "{'descr':'<f8','fortran_order':True,'shape':(1,)}").unwrap_err().contains("Fortran"));
        assert_eq!(
            count(&[1, 0], "{'descr':'<f8','fortran_order':False,'shape':(2,)}"),
            Err("ends before its last element".into())
        );
        assert!(count(&[1, 0], "{'descr':'<f8','fortran_order':False,'shape':(99999999999,99999999999)}").is_err());
    }

    proptest::proptest! {
        #[test]
        fn no_file_makes_it_panic(tail: Vec<u8>, header in ".{0,60}") {
            let _ = read(&[MAGIC, &tail].concat());
            let _ = read(&[MAGIC, &[1, 0], &(header.len() as u16).to_le_bytes(), header.as_bytes(), &tail].concat());
        }
    }
}

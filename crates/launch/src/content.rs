//! Makes the bytes of a buffer from its description.

use crate::element::{ElementType, Number};
use crate::npy;
use crate::value::{Buffer, Content};

/// SplitMix64: a published generator of one 64-bit word of state, the same on every machine.
struct SplitMix64(u64);

impl SplitMix64 {
    /// The next draw: 53 bits, in [0, 1).
    fn draw(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^= z >> 31;
        (z >> 11) as f64 * (-53f64).exp2()
    }
}

/// The bytes of `buffer`. `read` gives the bytes of a file; `limit` is how many bytes there may be.
/// The error is a sentence about the buffer.
pub(crate) fn make(
    buffer: &Buffer,
    limit: u64,
    read: &dyn Fn(&str) -> Result<Vec<u8>, String>,
) -> Result<Vec<u8>, String> {
    let element = buffer.element;
    if let Content::File(path) = &buffer.content {
        let bytes = from_file(buffer, path, &read(path)?)?;
        let fits = bytes.len() as u64 <= limit;
        return if fits { Ok(bytes) } else { Err(format!("{path} takes more memory than is free")) };
    }
    let listed = match &buffer.content {
        Content::Values(values) => Some(values.len() as u64),
        _ => None,
    };
    let count = buffer.count.or(listed).expect("the grammar demands a count where the content does not give one");
    if let Some(listed) = listed.filter(|&listed| listed != count) {
        return Err(format!("{listed} values are listed for {count} elements"));
    }
    let n_bytes = count.checked_mul(element.bytes() as u64).filter(|&n_bytes| n_bytes <= limit);
    let too_large = || format!("{count} elements of {element} take more memory than is free");
    let n_bytes = n_bytes.and_then(|n_bytes| usize::try_from(n_bytes).ok()).ok_or_else(too_large)?;
    if buffer.content == Content::Zeros {
        return zeros(n_bytes).ok_or_else(too_large);
    }
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(n_bytes).map_err(|_| too_large())?;
    fill(element, count, &buffer.content, &mut bytes)?;
    Ok(bytes)
}

/// Zeros come from the system untouched, which is fast and takes no memory until they are written.
fn zeros(n_bytes: usize) -> Option<Vec<u8>> {
    Vec::<u8>::new().try_reserve_exact(n_bytes).ok()?;
    Some(vec![0; n_bytes])
}

fn fill(element: ElementType, count: u64, content: &Content, bytes: &mut Vec<u8>) -> Result<(), String> {
    match content {
        Content::Zeros | Content::File(_) => unreachable!("made without a list of elements"),
        Content::Iota => (0..count).for_each(|index| element.push_integer(index.into(), bytes)),
        Content::Fill(number) => {
            let mut one = Vec::new();
            element.encode(*number, &mut one)?;
            (0..count).for_each(|_| bytes.extend_from_slice(&one));
        }
        Content::Values(values) => values.iter().try_for_each(|&value| element.encode(value, bytes))?,
        Content::Uniform { low, high, seed } => uniform(element, count, (*low, *high), *seed, bytes)?,
    }
    Ok(())
}

fn uniform(
    element: ElementType,
    count: u64,
    (low, high): (Number, Number),
    seed: u64,
    bytes: &mut Vec<u8>,
) -> Result<(), String> {
    let mut generator = SplitMix64(seed);
    let (from, to) = (low.as_f64(), high.as_f64());
    if element.is_float() {
        (0..count).for_each(|_| element.push_float(from + generator.draw() * (to - from), bytes));
        return Ok(());
    }
    // Both bounds must fit the type, as every draw then does.
    let mut scratch = Vec::new();
    element.encode(low, &mut scratch)?;
    element.encode(high, &mut scratch)?;
    let Number::Integer(largest) = high else { unreachable!("an integer type takes no float") };
    (0..count).for_each(|_| {
        let drawn = (from + generator.draw() * (to - from + 1.0)).floor() as i128;
        element.push_integer(drawn.min(largest), bytes);
    });
    Ok(())
}

fn from_file(buffer: &Buffer, path: &str, file: &[u8]) -> Result<Vec<u8>, String> {
    let element = buffer.element;
    let is_npy = std::path::Path::new(path).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("npy"));
    let bytes = if is_npy {
        let array = npy::read(file).map_err(|clause| format!("{path} {clause}"))?;
        if array.element != element && (array.element, element) != (ElementType::U16, ElementType::Bf16) {
            return Err(format!("{path} holds {}, not {element}", array.element));
        }
        array.bytes
    } else {
        file
    };
    if !bytes.len().is_multiple_of(element.bytes()) || bytes.is_empty() {
        return Err(format!("{path} holds {} bytes, which is no positive number of {element}", bytes.len()));
    }
    let held = (bytes.len() / element.bytes()) as u64;
    match buffer.count {
        Some(count) if count != held => Err(format!("{path} holds {held} elements of {element}, not {count}")),
        _ => Ok(bytes.to_vec()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::{Argument, Value};

    const LIMIT: u64 = 1 << 30;

    fn bytes(text: &str) -> Result<Vec<u8>, String> {
        let Ok(Argument { value: Value::Buffer(buffer), .. }) = Argument::parse(text) else { panic!("{text}") };
        make(&buffer, LIMIT, &|path| match path {
            "raw.bin" => Ok(vec![1, 2, 3, 4]),
            "one.npy" => Ok(npy::write(ElementType::F32, &1f32.to_le_bytes())),
            _ => Err(format!("cannot read {path}")),
        })
    }

    fn words<const N: usize, T>(text: &str, read: fn([u8; N]) -> T) -> Vec<T> {
        bytes(text)
            .unwrap_or_else(|error| panic!("{text}: {error}"))
            .as_chunks()
            .0
            .iter()
            .map(|&word| read(word))
            .collect()
    }

    #[test]
    fn content_by_rule() {
        assert_eq!(bytes("u8[3]"), Ok(vec![0; 3]));
        assert_eq!(bytes("u8[3]:iota"), Ok(vec![0, 1, 2]));
        assert_eq!(words("f64[3]:iota", f64::from_le_bytes), [0.0, 1.0, 2.0]);
        assert_eq!(words("s32[2]:fill(-1)", i32::from_le_bytes), [-1, -1]);
        assert_eq!(words("f32[3]:values(1,2.5,-inf)", f32::from_le_bytes), [1.0, 2.5, f32::NEG_INFINITY]);
        assert_eq!(bytes("u16[]:file(raw.bin)"), Ok(vec![1, 2, 3, 4]));
        assert_eq!(words("f32[1]:file(one.npy)", f32::from_le_bytes), [1.0]);
    }

    #[test]
    fn uniform_follows_the_published_generator() {
        // First outputs of SplitMix64 with seed 1234567.
        let published: [u64; 3] = [6457827717110365317, 3203168211198807973, 9817491932198370423];
        let expected = published.map(|word| (word >> 11) as f64 * (-53f64).exp2());
        assert_eq!(words("f64[3]:uniform(0,1,1234567)", f64::from_le_bytes), expected);
        let drawn = bytes("u8[4096]:uniform(3,5,1)").expect("in range");
        assert_eq!((drawn.iter().min(), drawn.iter().max()), (Some(&3), Some(&5)));
        assert_eq!(bytes("u8[4]:uniform(7,7)"), Ok(vec![7; 4]));
    }

    #[test]
    fn a_file_counts_like_everything_else() {
        let Ok(Argument { value: Value::Buffer(buffer), .. }) = Argument::parse("u8[]:file(a.bin)") else { panic!() };
        let made = |limit| make(&buffer, limit, &|_| Ok(vec![1; 8]));
        assert_eq!((made(8), made(7)), (Ok(vec![1; 8]), Err("a.bin takes more memory than is free".into())));
    }

    #[test]
    fn impossible_content_is_an_error() {
        let cases = [
            ("f32[1<<60]", "1152921504606846976 elements of f32 take more memory than is free"),
            ("f32[1<<63]", "9223372036854775808 elements of f32 take more memory than is free"),
            ("u8[2]:fill(256)", "256 does not fit u8 (0 to 255)"),
            ("u8[2]:fill(0.5)", "0.5 is not an integer, as u8 needs"),
            ("u8[4]:uniform(0,256)", "256 does not fit u8 (0 to 255)"),
            ("u8[4]:values(1,2)", "2 values are listed for 4 elements"),
            ("u8[4]:file(none.bin)", "cannot read none.bin"),
            ("u8[5]:file(raw.bin)", "raw.bin holds 4 elements of u8, not 5"),
            ("u64[]:file(raw.bin)", "raw.bin holds 4 bytes, which is no positive number of u64"),
            ("u32[1]:file(one.npy)", "one.npy holds f32, not u32"),
        ];
        for (text, message) in cases {
            assert_eq!(bytes(text), Err(message.into()), "{text}");
        }
    }
}

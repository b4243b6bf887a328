//! Tensor maps of launches: where a tensor lies in a buffer, and which box of it a copy moves.

use warplens_isa::{ScalarType, Swizzle, TensorMap};

use crate::element::{ElementType, Number};
use crate::scanner::{Scanned, Scanner, list};

const FIELDS: &str = "extents(N,...), box(N,...), strides(BYTES,...), steps(N,...), swizzle(32|64|128) or fill(nan)";

/// The type of the elements, and what says where they lie and which box is copied.
pub(crate) fn scan(scanner: &mut Scanner<'_>) -> Scanned<TensorMap> {
    let start = scanner.at();
    let word = scanner.word();
    let element = ElementType::from_name(word);
    let ty = element.and_then(|element| ScalarType::from_name(element.name()));
    let ty = ty.ok_or_else(|| scanner.error_since(start, format!("`{word}` is no type of an element")))?;
    let mut fields = Fields::default();
    while scanner.take(",") {
        fields.scan(scanner)?;
    }
    let map = fields.map(ty);
    match map.fault() {
        None => Ok(map),
        Some(fault) => Err(scanner.error_since(start, fault)),
    }
}

#[derive(Default)]
struct Fields {
    extents: Vec<u32>,
    box_extents: Vec<u32>,
    strides: Option<Vec<u64>>,
    steps: Option<Vec<u32>>,
    swizzle: Swizzle,
    fills_nan: bool,
}

impl Fields {
    fn scan(&mut self, scanner: &mut Scanner<'_>) -> Scanned<()> {
        let mut ahead = scanner.clone();
        let start = ahead.at();
        match ahead.word() {
            "extents" => self.extents = list(&mut ahead, whole)?,
            "box" => self.box_extents = list(&mut ahead, whole)?,
            "strides" => self.strides = Some(list(&mut ahead, whole)?),
            "steps" => self.steps = Some(list(&mut ahead, whole)?),
            "swizzle" => {
                let [bytes] = list(&mut ahead, whole::<u32>)?[..] else {
                    return Err(ahead.error_since(start, "one number says how tiles are swizzled"));
                };
                let swizzle = Swizzle::ALL.into_iter().find(|swizzle| swizzle.span().unwrap_or(0) == bytes);
                self.swizzle =
                    swizzle.ok_or_else(|| ahead.error_since(start, "tiles are swizzled by 0, 32, 64 or 128 bytes"))?;
            }
            "fill" => {
                ahead.expect("(")?;
                self.fills_nan = match ahead.word() {
                    "nan" => true,
                    "zero" => false,
                    _ => return Err(ahead.error_since(start, "elements outside are `zero` or `nan`")),
                };
                ahead.expect(")")?;
            }
            _ => return Err(scanner.unexpected(FIELDS)),
        }
        *scanner = ahead;
        Ok(())
    }

    fn map(self, ty: ScalarType) -> TensorMap {
        let Self { extents, box_extents, strides, steps, swizzle, fills_nan } = self;
        // Without strides the elements lie side by side.
        let dense = extents.iter().scan(u64::from(ty.bytes()), |bytes, &extent| {
            *bytes = bytes.saturating_mul(extent.into());
            Some(*bytes)
        });
        let dense: Vec<u64> = dense.take(extents.len().saturating_sub(1)).collect();
        let steps = steps.unwrap_or_else(|| vec![1; extents.len()]);
        let strides = strides.unwrap_or(dense);
        TensorMap { address: 0, ty, extents, strides, box_extents, steps, swizzle, fills_nan }
    }
}

fn whole<T: TryFrom<i128>>(scanner: &mut Scanner<'_>) -> Scanned<T> {
    let start = scanner.at();
    let number = match scanner.number()? {
        Number::Integer(number) => T::try_from(number).ok(),
        Number::Float(_) => None,
    };
    number.ok_or_else(|| scanner.error_since(start, "this is no whole number that a tensor map can have"))
}

//! Outputs of points held against those of the first: a launch that is fast and wrong is no result.

use warplens_base::IdMap;

use warplens_launch::{BufferId, Element, ElementType, PlannedBuffer};

/// What a comparison of outputs found.
#[derive(Clone, PartialEq, Debug)]
pub enum Check {
    /// The point that the others are compared with.
    Reference,
    /// Every buffer holds the same, within the tolerance.
    Same,
    /// A buffer holds something else.
    Differs {
        /// Its name.
        buffer: String,
        /// Elements that differ.
        n_different: u64,
        /// The first of them.
        first: u64,
    },
    /// The buffers are not alike, so that nothing can be compared.
    NotComparable(String),
}

impl Check {
    /// Name in reports.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Reference => "reference",
            Self::Same => "same",
            Self::Differs { .. } => "differs",
            Self::NotComparable(_) => "not comparable",
        }
    }
}

/// Every buffer after a launch.
pub(super) struct Outputs {
    buffers: Vec<(String, ElementType, Vec<u8>)>,
}

impl Outputs {
    /// The buffers of a plan with their contents.
    pub(super) fn new(planned: &IdMap<BufferId, PlannedBuffer>, contents: Vec<(ElementType, Vec<u8>)>) -> Self {
        let names = planned.as_slice().iter().map(|buffer| buffer.name.clone());
        Self { buffers: names.zip(contents).map(|(name, (element, bytes))| (name, element, bytes)).collect() }
    }

    /// Compares with a reference. Whole numbers must be equal; of floats the difference must be at most `tolerance` times
    /// the largest magnitude in the reference's buffer, so that another order of additions is no difference.
    pub(super) fn check(&self, reference: &Self, tolerance: f64) -> Check {
        if self.buffers.len() != reference.buffers.len() {
            return Check::NotComparable(format!("{} buffers, not {}", self.buffers.len(), reference.buffers.len()));
        }
        for ((name, element, bytes), (_, other_element, other)) in self.buffers.iter().zip(&reference.buffers) {
            if element != other_element || bytes.len() != other.len() {
                let message = format!("buffer `{name}` has {} bytes, not {}", bytes.len(), other.len());
                return Check::NotComparable(message);
            }
            let different = different(*element, bytes, other, tolerance);
            if let Some(&first) = different.first() {
                return Check::Differs { buffer: name.clone(), n_different: different.len() as u64, first };
            }
        }
        Check::Same
    }
}

/// Numbers of the elements that differ.
fn different(element: ElementType, bytes: &[u8], reference: &[u8], tolerance: f64) -> Vec<u64> {
    if bytes == reference {
        return Vec::new();
    }
    let size = element.bytes();
    let pairs = bytes.chunks_exact(size).zip(reference.chunks_exact(size)).zip(0_u64..);
    let is_float = element.is_float();
    let number = |bytes: &[u8]| match element.decode(bytes) {
        Element::Unsigned(value) => value as f64,
        Element::Signed(value) => value as f64,
        Element::Single(value) => f64::from(value),
        Element::Double(value) => value,
    };
    let magnitudes = reference.chunks_exact(size).map(|bytes| number(bytes).abs()).filter(|value| value.is_finite());
    let allowed = if is_float { tolerance * magnitudes.fold(0.0, f64::max) } else { 0.0 };
    let differs = |own: &[u8], other: &[u8]| {
        if own == other || !is_float {
            return own != other;
        }
        let (own, other) = (number(own), number(other));
        // Two NaNs are the same result; one is not.
        !(own.is_nan() && other.is_nan() || own == other || (own - other).abs() <= allowed)
    };
    pairs.filter(|((own, other), _)| differs(own, other)).map(|(_, at)| at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(element: ElementType, own: &[f32], other: &[f32]) -> Check {
        let outputs = |values: &[f32]| Outputs {
            buffers: vec![("c".to_owned(), element, values.iter().flat_map(|value| value.to_le_bytes()).collect())],
        };
        outputs(own).check(&outputs(other), 1e-4)
    }

    #[test]
    fn floats_may_differ_a_little_and_bits_may_not() {
        let (float, word) = (ElementType::F32, ElementType::U32);
        assert_eq!(check(float, &[100.0, 1.0], &[100.0, 1.005]), Check::Same);
        let differs = |n_different, first| Check::Differs { buffer: "c".to_owned(), n_different, first };
        assert_eq!(check(float, &[100.0, 1.0, 3.0], &[100.0, 1.02, 4.0]), differs(2, 1));
        assert_eq!(check(word, &[100.0, 1.0], &[100.0, 1.000_001]), differs(1, 1));
        assert_eq!(check(float, &[f32::NAN, 0.0], &[f32::NAN, -0.0]), Check::Same);
        assert_eq!(check(float, &[f32::NAN], &[1.0]), differs(1, 0));
        assert_eq!(check(float, &[f32::INFINITY], &[1.0]), differs(1, 0));
        assert_eq!(check(float, &[1.0], &[1.0, 2.0]), Check::NotComparable("buffer `c` has 4 bytes, not 8".to_owned()));
    }
}

//! What lies in the constant banks that operands of machine code read.

use warplens_ir::ConstantBank;

/// What lies in a constant bank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Content {
    /// Bytes that the module gives, lowest first.
    Bytes(u64),
    /// A parameter: the byte offset in the parameter space.
    Parameter(u32),
}

/// What lies from `offset` of a bank on, of a kernel with `n_parameters` bytes of parameters.
pub(crate) fn bank_content(bank: &ConstantBank, n_parameters: u32, offset: u32) -> Content {
    let parameter = bank.parameters.and_then(|start| offset.checked_sub(start));
    if let Some(parameter) = parameter.filter(|&parameter| parameter < n_parameters) {
        return Content::Parameter(parameter);
    }
    let byte = |at: usize| bank.content.get(offset as usize + at).copied().unwrap_or(0);
    Content::Bytes(u64::from_le_bytes(std::array::from_fn(byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_hide_what_the_bank_has_there() {
        let bank = ConstantBank { number: 0, bytes: 16, content: vec![1, 2, 3, 4, 5, 6, 7, 8, 9], parameters: Some(4) };
        assert_eq!(bank_content(&bank, 4, 0), Content::Bytes(0x0807_0605_0403_0201));
        assert_eq!(bank_content(&bank, 4, 4), Content::Parameter(0));
        assert_eq!(bank_content(&bank, 4, 8), Content::Bytes(9));
        assert_eq!(bank_content(&bank, 0, 4), Content::Bytes(0x0009_0807_0605));
    }
}

//! Numbers in sentences.

/// Three significant digits, for sentences.
pub(crate) fn short(number: f64) -> String {
    if number == 0.0 || !number.is_finite() {
        return number.to_string();
    }
    let digits = 2 - number.abs().log10().floor() as i32;
    let text = format!("{number:.*}", usize::try_from(digits).unwrap_or(0));
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

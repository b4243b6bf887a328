//! Comma-separated records with quoted fields, as profilers write them.

/// One record with the line on which it begins, from 1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Record {
    pub(super) line: usize,
    pub(super) fields: Vec<String>,
}

/// The records of a text. An open quote at the end is an error: the line on which it opens.
pub(super) fn records(text: &str) -> Result<Vec<Record>, usize> {
    let mut records = Vec::new();
    let mut chars = text.chars().peekable();
    let mut line = 1;
    while chars.peek().is_some() {
        let mut record = Record { line, fields: Vec::new() };
        let mut field = String::new();
        let mut opened = None;
        for c in chars.by_ref() {
            match (c, opened) {
                ('"', None) => opened = Some(line),
                // Two quotes inside of a quoted field close and open it again: one of them is meant.
                ('"', Some(_)) => opened = None,
                (',', None) => record.fields.push(std::mem::take(&mut field)),
                ('\n', None) => {
                    line += 1;
                    break;
                }
                ('\r', None) => {}
                (c, _) => {
                    line += usize::from(c == '\n');
                    field.push(c);
                }
            }
        }
        if let Some(line) = opened {
            return Err(line);
        }
        record.fields.push(field);
        // A blank line is no record.
        if record.fields.iter().any(|field| !field.is_empty()) {
            records.push(record);
        }
    }
    Ok(records)
}

/// A number as profilers print it: with a point, and perhaps with commas between thousands. `None` for anything else,
/// such as the numbers of other languages, whose points and commas mean the opposite.
pub(super) fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    let (whole, fraction) = text.split_once('.').map_or((text, None), |(whole, fraction)| (whole, Some(fraction)));
    if fraction.is_some_and(|fraction| fraction.contains([',', '.'])) {
        return None;
    }
    let mut groups = whole.split(',');
    let first = groups.next()?;
    let is_grouped = whole.contains(',');
    let digits = first.trim_start_matches('-');
    if is_grouped && (digits.is_empty() || digits.len() > 3 || groups.any(|group| group.len() != 3)) {
        return None;
    }
    let number: f64 = text.replace(',', "").parse().ok()?;
    number.is_finite().then_some(number)
}

/// The text without the mark that some editors put in front of it.
pub fn without_mark(text: &str) -> &str {
    text.trim_start_matches('\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_may_be_quoted() {
        let fields =
            |text| records(text).map(|records| records.into_iter().map(|r| (r.line, r.fields)).collect::<Vec<_>>());
        let strings = |fields: &[&str]| fields.iter().map(|&field| field.to_owned()).collect::<Vec<_>>();
        assert_eq!(fields("a,b\r\n\n\"c,d\",\n"), Ok(vec![(1, strings(&["a", "b"])), (3, strings(&["c,d", ""]))]));
        assert_eq!(fields("\"a\nb\",c\nd"), Ok(vec![(1, strings(&["a\nb", "c"])), (3, strings(&["d"]))]));
        assert_eq!(fields("a\n\"b,c\nd"), Err(2));
    }

    #[test]
    fn thousands_may_be_separated_and_other_languages_are_not_guessed() {
        let cases = [
            ("1,234", Some(1234.0)),
            ("12,345,678.5", Some(12_345_678.5)),
            ("0.25", Some(0.25)),
            ("1e3", Some(1000.0)),
            ("27.595.520", None),
            ("1,5", None),
            ("1234,567", None),
            ("1.234,5", None),
            ("", None),
            ("nan", None),
            ("n/a", None),
        ];
        for (text, expected) in cases {
            assert_eq!(number(text), expected, "{text}");
        }
    }
}

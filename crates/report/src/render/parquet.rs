//! Parquet: a table as columns, for programs that read many rows.

use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

use crate::section::{Cell, Table};

/// Rows that are written together.
const GROUP: usize = 1 << 16;

/// What the cells of a column are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Text,
    Count,
    Number,
}

/// The bytes of a file with the rows of the table. A cell that is missing is null. Columns whose key is one of `words`
/// hold text even where no row has any; of the others one without values holds numbers.
pub fn parquet(table: &Table, words: &[&str]) -> Result<Vec<u8>, ParquetError> {
    let kinds: Vec<Kind> = (0..table.columns.len()).map(|at| kind(table, at, words)).collect();
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_created_by(format!("warplens {}", env!("CARGO_PKG_VERSION")));
    let mut writer = SerializedFileWriter::new(Vec::new(), schema(table, &kinds)?, Arc::new(properties.build()))?;
    for rows in table.rows.chunks(GROUP) {
        let mut group = writer.next_row_group()?;
        let mut at = 0;
        while let Some(mut column) = group.next_column()? {
            write(column.untyped(), rows.iter().map(|row| &row[at]))?;
            column.close()?;
            at += 1;
        }
        group.close()?;
    }
    writer.into_inner()
}

fn kind(table: &Table, at: usize, words: &[&str]) -> Kind {
    let cells = || table.rows.iter().map(|row| &row[at]);
    if words.contains(&table.columns[at].key.as_str()) || cells().any(|cell| matches!(cell, Cell::Text(_))) {
        return Kind::Text;
    }
    let is_count = cells().any(|cell| matches!(cell, Cell::Count(_)));
    match is_count && !cells().any(|cell| matches!(cell, Cell::Number(..))) {
        true => Kind::Count,
        false => Kind::Number,
    }
}

fn schema(table: &Table, kinds: &[Kind]) -> Result<Arc<Type>, ParquetError> {
    let field = |(column, kind): (&crate::Column, &Kind)| {
        let (physical, logical) = match kind {
            Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            Kind::Count => (Physical::INT64, None),
            Kind::Number => (Physical::DOUBLE, None),
        };
        let field = Type::primitive_type_builder(&column.key, physical).with_repetition(Repetition::OPTIONAL);
        field.with_logical_type(logical).build().map(Arc::new)
    };
    let fields = table.columns.iter().zip(kinds).map(field).collect::<Result<_, _>>()?;
    Ok(Arc::new(Type::group_type_builder("rows").with_fields(fields).build()?))
}

fn write<'c>(column: &mut ColumnWriter<'_>, cells: impl Iterator<Item = &'c Cell> + Clone) -> Result<(), ParquetError> {
    let levels: Vec<i16> = cells.clone().map(|cell| i16::from(!matches!(cell, Cell::Missing))).collect();
    match column {
        ColumnWriter::ByteArrayColumnWriter(column) => {
            let texts: Vec<ByteArray> = cells.filter_map(text).map(|text| text.as_str().into()).collect();
            column.write_batch(&texts, Some(&levels), None)?;
        }
        ColumnWriter::Int64ColumnWriter(column) => {
            let counts: Vec<i64> = cells.filter_map(count).collect();
            column.write_batch(&counts, Some(&levels), None)?;
        }
        ColumnWriter::DoubleColumnWriter(column) => {
            let numbers: Vec<f64> = cells.filter_map(number).collect();
            column.write_batch(&numbers, Some(&levels), None)?;
        }
        _ => unreachable!("a column holds texts, counts or numbers"),
    }
    Ok(())
}

fn text(cell: &Cell) -> Option<String> {
    match cell {
        Cell::Text(text) => Some(text.clone()),
        Cell::Count(count) => Some(count.to_string()),
        Cell::Number(number, _) => Some(number.to_string()),
        Cell::Missing => None,
    }
}

fn count(cell: &Cell) -> Option<i64> {
    match cell {
        // Counts are at most 2^56.
        Cell::Count(count) => Some(i64::try_from(*count).unwrap_or(i64::MAX)),
        _ => None,
    }
}

fn number(cell: &Cell) -> Option<f64> {
    match cell {
        Cell::Number(number, _) => Some(*number),
        Cell::Count(count) => Some(*count as f64),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;

    use super::*;
    use crate::section::Unit;

    #[test]
    fn rows_are_read_as_they_were_written() {
        let mut table = Table::new(&[("a", "a"), ("b", "b"), ("c", "c"), ("d", "refused")]);
        table.push(vec![Cell::Count(1), Cell::Number(0.5, Unit::Share), Cell::text("x"), Cell::Missing]);
        table.push(vec![Cell::Missing, Cell::Count(2), Cell::Count(3), Cell::Missing]);
        let bytes = parquet(&table, &["refused"]).unwrap();
        let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
        let rows: Vec<Vec<(String, Field)>> = reader
            .get_row_iter(None)
            .unwrap()
            .map(|row| row.unwrap().get_column_iter().map(|(name, field)| (name.clone(), field.clone())).collect())
            .collect();
        let own = |name: &str, field| (name.to_owned(), field);
        let text = |text: &str| Field::Str(text.to_owned());
        assert_eq!(
            rows,
            [
                [
                    own("a", Field::Long(1)),
                    own("b", Field::Double(0.5)),
                    own("c", text("x")),
                    own("refused", Field::Null)
                ],
                [own("a", Field::Null), own("b", Field::Double(2.0)), own("c", text("3")), own("refused", Field::Null)],
            ]
        );
    }

    #[test]
    fn a_table_without_rows_is_a_file() {
        let bytes = parquet(&Table::new(&[("a", "a")]), &[]).unwrap();
        assert!(SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap().metadata().num_row_groups() == 0);
    }
}

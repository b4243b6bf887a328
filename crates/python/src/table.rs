//! Tables with typed columns, which Arrow's readers take as they are.

use std::ffi::CStr;
use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    ArrayRef, Float64Array, Int64Array, NullArray, RecordBatch, RecordBatchIterator, RecordBatchOptions, StringArray,
};
use arrow_schema::{ArrowError, Field, Schema};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};
use warplens_report::Cell;

/// By which readers of the C stream interface know it.
const STREAM: &CStr = c"arrow_array_stream";

/// Rows under headings. The C stream interface of Arrow hands it to pandas, polars and pyarrow.
#[pyclass(frozen, module = "warplens._native")]
pub(crate) struct Table {
    /// What it is about.
    #[pyo3(get)]
    title: String,
    batch: RecordBatch,
    cells: warplens_report::Table,
}

impl Table {
    pub(crate) fn new(title: &str, cells: warplens_report::Table) -> Self {
        let columns = (0..cells.columns.len()).map(|at| {
            let array = array(&cells, at);
            (Field::new(cells.columns[at].key.clone(), array.data_type().clone(), true), array)
        });
        let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = columns.unzip();
        let options = RecordBatchOptions::new().with_row_count(Some(cells.rows.len()));
        let batch = RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options);
        let batch = batch.expect("the columns are as long as there are rows, and of the types of their fields");
        Self { title: title.to_owned(), batch, cells }
    }
}

/// A column: whole numbers, numbers or words, by the cells that are not missing.
fn array(table: &warplens_report::Table, at: usize) -> ArrayRef {
    let cells = || table.rows.iter().map(|row| &row[at]);
    let known = || cells().filter(|cell| **cell != Cell::Missing);
    if known().next().is_none() {
        return Arc::new(NullArray::new(table.rows.len()));
    }
    let whole = |cell: &Cell| match cell {
        Cell::Count(count) => i64::try_from(*count).ok(),
        _ => None,
    };
    let number = |cell: &Cell| match cell {
        Cell::Count(count) => Some(*count as f64),
        Cell::Number(number, _) => Some(*number),
        Cell::Text(_) | Cell::Missing => None,
    };
    let words = |cell: &Cell| match cell {
        Cell::Text(text) => Some(text.clone()),
        Cell::Count(count) => Some(count.to_string()),
        Cell::Number(number, _) => Some(number.to_string()),
        Cell::Missing => None,
    };
    if known().all(|cell| whole(cell).is_some()) {
        return Arc::new(cells().map(whole).collect::<Int64Array>());
    }
    match known().all(|cell| number(cell).is_some()) {
        true => Arc::new(cells().map(number).collect::<Float64Array>()),
        false => Arc::new(cells().map(words).collect::<StringArray>()),
    }
}

#[pymethods]
impl Table {
    /// Names of the columns, with their units.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.cells.columns.iter().map(|column| column.key.clone()).collect()
    }

    /// Headings of the columns for people.
    #[getter]
    fn headings(&self) -> Vec<String> {
        self.cells.columns.iter().map(|column| column.title.clone()).collect()
    }

    fn __len__(&self) -> usize {
        self.cells.rows.len()
    }

    /// The columns by name, as lists.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (at, column) in self.cells.columns.iter().enumerate() {
            let list = PyList::empty(py);
            for row in &self.cells.rows {
                match &row[at] {
                    Cell::Text(text) => list.append(text)?,
                    Cell::Count(count) => list.append(*count)?,
                    Cell::Number(number, _) => list.append(*number)?,
                    Cell::Missing => list.append(py.None())?,
                }
            }
            dict.set_item(&column.key, list)?;
        }
        Ok(dict)
    }

    /// The table by the C stream interface of Arrow.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface lets a producer hand out its own schema where it cannot serve the wish.
        drop(requested_schema);
        let batches: [Result<RecordBatch, ArrowError>; 1] = [Ok(self.batch.clone())];
        let reader = RecordBatchIterator::new(batches, self.batch.schema());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), STREAM)
            .map_err(|error| PyValueError::new_err(error.to_string()))
    }
}

//! The case study's directions.

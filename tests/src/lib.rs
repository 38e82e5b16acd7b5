//! Tests of the deployed system live in this package.

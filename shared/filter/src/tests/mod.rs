//! Tests that need the compiler.

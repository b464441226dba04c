//! The builder.

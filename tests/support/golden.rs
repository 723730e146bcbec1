//! Reads the golden files: any folder of format refnum-1.

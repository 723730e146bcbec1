//! Just enough of the WebAssembly binary format to read the names of functions.
//!
//! Format: <https://webassembly.github.io/spec/core/binary/modules.html>, name section: appendix of the same specification.

const CUSTOM: u8 = 0;
const EXPORT: u8 = 7;
const FUNCTION_NAMES: u8 = 1;

/// All functions that the module's name section names, and all its exports.
pub fn names(module: &[u8]) -> Result<Vec<String>, String> {
    let mut reader = Reader { rest: module };
    if reader.take(8)? != b"\0asm\x01\0\0\0" {
        return Err("not a WebAssembly module of version 1".to_owned());
    }
    let mut found = Vec::new();
    while !reader.rest.is_empty() {
        let (id, size) = (reader.byte()?, reader.number()?);
        let mut section = Reader {
            rest: reader.take(size)?,
        };
        match id {
            EXPORT => {
                for _ in 0..section.number()? {
                    found.push(section.text()?);
                    section.byte()?;
                    section.number()?;
                }
            }
            CUSTOM if section.text()? == "name" => function_names(section, &mut found)?,
            _ => {}
        }
    }
    Ok(found)
}

/// The module without its name section, which only people who read stack traces need.
pub fn without_names(module: &[u8]) -> Result<Vec<u8>, String> {
    let mut reader = Reader { rest: module };
    let mut kept = reader.take(8)?.to_vec();
    while !reader.rest.is_empty() {
        let whole = reader.rest;
        let (id, size) = (reader.byte()?, reader.number()?);
        let body = reader.take(size)?;
        let is_names = id == CUSTOM && Reader { rest: body }.text()? == "name";
        if !is_names {
            kept.extend_from_slice(&whole[..whole.len() - reader.rest.len()]);
        }
    }
    Ok(kept)
}

fn function_names(mut section: Reader<'_>, found: &mut Vec<String>) -> Result<(), String> {
    while !section.rest.is_empty() {
        let (id, size) = (section.byte()?, section.number()?);
        let mut names = Reader {
            rest: section.take(size)?,
        };
        if id == FUNCTION_NAMES {
            for _ in 0..names.number()? {
                names.number()?;
                found.push(names.text()?);
            }
        }
    }
    Ok(())
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], String> {
        let (head, rest) = self.rest.split_at_checked(count).ok_or("the module ends too early")?;
        self.rest = rest;
        Ok(head)
    }

    fn byte(&mut self) -> Result<u8, String> {
        self.take(1).map(|bytes| bytes[0])
    }

    /// An unsigned number in LEB128.
    fn number(&mut self) -> Result<usize, String> {
        let mut value = 0_usize;
        for shift in (0..35).step_by(7) {
            let byte = self.byte()?;
            value |= usize::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err("a number is too long".to_owned())
    }

    fn text(&mut self) -> Result<String, String> {
        let length = self.number()?;
        Ok(String::from_utf8_lossy(self.take(length)?).into_owned())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::{names, without_names};

    /// A module with one export and a name section that names one function.
    pub(crate) fn module(export: &str, function: &str) -> Vec<u8> {
        let byte = |n: usize| u8::try_from(n).unwrap();
        let text = |s: &str| [&[byte(s.len())], s.as_bytes()].concat();
        let section = |id: u8, body: Vec<u8>| [vec![id, byte(body.len())], body].concat();
        let exports = [vec![1], text(export), vec![0, 0]].concat();
        let functions = section(1, [vec![1, 0], text(function)].concat());
        let custom = [text("name"), functions].concat();
        [b"\0asm\x01\0\0\0".to_vec(), section(7, exports), section(0, custom)].concat()
    }

    #[test]
    fn finds_exports_and_functions() {
        assert_eq!(
            names(&module("main", "burn_flex::add")).unwrap(),
            ["main", "burn_flex::add"]
        );
    }

    #[test]
    fn takes_names_away_and_nothing_else() {
        let bare = without_names(&module("main", "burn_flex::add")).unwrap();
        assert_eq!(names(&bare).unwrap(), ["main"]);
        assert_eq!(without_names(&bare).unwrap(), bare);
    }

    #[test]
    fn refuses_what_is_not_a_module() {
        assert!(names(b"<!doctype html>").is_err());
        let whole = module("main", "f");
        assert!(names(&whole[..whole.len() - 1]).is_err());
    }
}

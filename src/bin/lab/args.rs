//! The command line.

use std::{ffi::OsString, path::PathBuf};

use lexopt::{Arg, ValueExt};

use crate::failure::Failure;

pub(crate) const HELP: &str = "\
Microbatch Lab: make the microbatch smaller without losing count of the updates.

Usage:
  lab plan  SETUP.toml [--data FILE]
  lab train SETUP.toml [--data FILE] [--device cpu|webgpu] [--journal FILE.jsonl]

  plan    Print the first epoch's groups: which example is in which microbatch on which replica, what each group is
          divided by, and the coefficient that each lane gives each microbatch's gradient.
  train   Train until the budget is reached, printing one line a group.

Options:
      --data FILE      The person's own text, where the setup's data is text or jsonl
                       [default: the setup's 'file', beside SETUP.toml]
      --device DEVICE  cpu or webgpu [default: cpu]
      --journal FILE   Write what happened as JSON lines, the same that the page exports
  -h, --help           Print this help
  -V, --version        Print the version

SETUP.toml holds the keys that the page exports; every key may be left out. An empty file is a valid setup.

Exit codes: 0 done; 1 something went wrong while it ran; 2 the arguments, the setup or its data cannot be used.
";

/// What was asked for.
#[derive(Debug)]
pub(crate) enum Request {
    Help,
    Version,
    Plan(Paths),
    Train(Train),
}

/// Where the experiment stands.
#[derive(Debug)]
pub(crate) struct Paths {
    pub(crate) setup: PathBuf,
    pub(crate) data: Option<PathBuf>,
}

#[derive(Debug)]
pub(crate) struct Train {
    pub(crate) paths: Paths,
    pub(crate) device: Device,
    pub(crate) journal: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Device {
    Cpu,
    WebGpu,
}

impl From<lexopt::Error> for Failure {
    fn from(error: lexopt::Error) -> Self {
        Self::Usage(error.to_string())
    }
}

pub(crate) fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Request, Failure> {
    let mut parser = lexopt::Parser::from_iter(args);
    let mut words: Vec<OsString> = Vec::new();
    let (mut data, mut device, mut journal) = (None, None, None);
    while let Some(arg) = parser.next()? {
        match arg {
            Arg::Short('h') | Arg::Long("help") => return Ok(Request::Help),
            Arg::Short('V') | Arg::Long("version") => return Ok(Request::Version),
            Arg::Long("data") => data = Some(PathBuf::from(parser.value()?)),
            Arg::Long("journal") => journal = Some(PathBuf::from(parser.value()?)),
            Arg::Long("device") => device = Some(parse_device(&parser.value()?.string()?)?),
            Arg::Value(word) => words.push(word),
            Arg::Short(_) | Arg::Long(_) => return Err(arg.unexpected().into()),
        }
    }
    let mut words = words.into_iter();
    let Some(command) = words.next() else {
        return Err(Failure::Usage(
            "say what to do: 'lab plan SETUP.toml' or 'lab train SETUP.toml'".to_owned(),
        ));
    };
    let setup = words.next().map(PathBuf::from);
    if let Some(extra) = words.next() {
        return Err(Failure::Usage(format!(
            "one setup at a time; '{}' is too much",
            extra.display()
        )));
    }
    let paths = || {
        let setup = setup.ok_or_else(|| Failure::Usage("name a setup file, such as SETUP.toml".to_owned()))?;
        Ok::<_, Failure>(Paths { setup, data })
    };
    match command.to_str() {
        Some("plan") if device.is_some() || journal.is_some() => Err(Failure::Usage(
            "'plan' trains nothing, so it takes neither --device nor --journal".to_owned(),
        )),
        Some("plan") => Ok(Request::Plan(paths()?)),
        Some("train") => Ok(Request::Train(Train {
            paths: paths()?,
            device: device.unwrap_or(Device::Cpu),
            journal,
        })),
        Some("help") => Ok(Request::Help),
        _ => Err(Failure::Usage(format!(
            "'{}' is no command; there are 'plan' and 'train'",
            command.display()
        ))),
    }
}

fn parse_device(name: &str) -> Result<Device, Failure> {
    match name {
        "cpu" => Ok(Device::Cpu),
        "webgpu" if cfg!(feature = "gpu") => Ok(Device::WebGpu),
        "webgpu" => Err(Failure::Usage(
            "this build has no WebGPU; build one with 'cargo build --release --features engine,gpu --bin lab'"
                .to_owned(),
        )),
        other => Err(Failure::Usage(format!(
            "{other:?} is no device; there are 'cpu' and 'webgpu'"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Result<Request, String> {
        let words = std::iter::once("lab")
            .chain(line.split_whitespace())
            .map(OsString::from);
        parse(words).map_err(|failure| failure.to_string())
    }

    #[test]
    fn what_is_asked_is_understood() {
        let Ok(Request::Train(train)) = of("train a.toml --journal=j.jsonl --device cpu") else {
            panic!()
        };
        assert_eq!(
            (train.device, train.journal),
            (Device::Cpu, Some(PathBuf::from("j.jsonl")))
        );
        assert!(matches!(
            of("plan --data d.txt a.toml"),
            Ok(Request::Plan(Paths { data: Some(_), .. }))
        ));
        assert!(matches!(of("--help"), Ok(Request::Help)));
    }

    #[test]
    fn what_cannot_be_done_says_what_can() {
        for (line, says) in [
            ("", "say what to do"),
            ("trian a.toml", "'plan' and 'train'"),
            ("train", "name a setup file"),
            ("train a b", "one setup at a time"),
            ("plan a --journal j", "trains nothing"),
            ("train a --device tpu", "'cpu' and 'webgpu'"),
            ("train a --journel j", "--journel"),
            ("train a --journal", "--journal"),
        ] {
            let error = of(line).unwrap_err();
            assert!(error.contains(says), "{line:?}: {error}");
        }
    }
}

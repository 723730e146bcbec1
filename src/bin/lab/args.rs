//! The command line.

use std::{ffi::OsString, path::PathBuf};

use lexopt::{Arg, ValueExt};

use crate::{bytes, failure::Failure};

pub(crate) const HELP: &str = "\
Microbatch Lab: make the microbatch smaller without losing count of the updates.

Usage:
  lab plan  SETUP.toml [--data FILE]
  lab train SETUP.toml [--data FILE] [--device cpu|webgpu] [--journal FILE.jsonl]
  lab probe SETUP.toml [--data FILE] [--device cpu|webgpu]
  lab check SETUP.toml [--data FILE] [--device cpu|webgpu]
  lab fit   SETUP.toml --limit BYTES [--data FILE] [--device cpu|webgpu]

  plan    Print the first epoch's groups: which example is in which microbatch on which replica, what each group is
          divided by, and the coefficient that each lane gives each microbatch's gradient.
  train   Train until the budget is reached, printing one line a group.
  probe   Compute the gradient of the first group under every convention at the first parameters, and compare each with
          that of the full batch in one pass. The noise floor is what the order of summation alone does.
  check   Do a few updates of a small controlled set with the setup's lanes (m, A and D at most 2 each), and hold what
          happens against what must: examples, denominator, counts, gradients, replicas, a partial group, the rate, the
          log. It does not see graph_retained and single_backward, which only take memory; last_forward_outside_no_sync,
          which does no harm; hand_masked_mean and empty_group_stepped, which need a microbatch or group without any
          supervised token; scheduler faults under a constant rate; zero_grad_forgotten under a loss scale or in f16.
  fit     Find the largest m whose group fits into so many bytes, by training two groups with it, and the A that keeps
          m x A x D. Not for lanes with graph_retained: no m fits them for good.

Options:
      --data FILE      The person's own text, where the setup's data is text or jsonl
                       [default: the setup's 'file', beside SETUP.toml]
      --device DEVICE  cpu or webgpu [default: cpu]
      --journal FILE   Write what happened as JSON lines, the same that the page exports
      --limit BYTES    Bytes that may be in use, such as 64MiB: a number, and B, KiB, MiB or GiB
  -h, --help           Print this help
  -V, --version        Print the version

SETUP.toml holds the keys that the page exports; every key may be left out. An empty file is a valid setup.

Exit codes: 0 done, and every check passed; 1 something went wrong while it ran, a check failed, or nothing fits; 2 the
arguments, the setup or its data cannot be used.
";

/// What was asked for.
#[derive(Debug)]
pub(crate) enum Request {
    Help,
    Version,
    Plan(Paths),
    Train(Train),
    Probe(OnDevice),
    Check(OnDevice),
    Fit(OnDevice, u64),
}

/// Where the experiment stands.
#[derive(Debug)]
pub(crate) struct Paths {
    pub(crate) setup: PathBuf,
    pub(crate) data: Option<PathBuf>,
}

/// An experiment, and where it is computed.
#[derive(Debug)]
pub(crate) struct OnDevice {
    pub(crate) paths: Paths,
    pub(crate) device: Device,
}

#[derive(Debug)]
pub(crate) struct Train {
    pub(crate) subject: OnDevice,
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

/// Everything that stood behind the command, before it is known which command it was.
#[derive(Default)]
struct Given {
    setup: Option<PathBuf>,
    data: Option<PathBuf>,
    device: Option<Device>,
    journal: Option<PathBuf>,
    limit: Option<u64>,
}

pub(crate) fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Request, Failure> {
    let mut parser = lexopt::Parser::from_iter(args);
    let mut words: Vec<OsString> = Vec::new();
    let mut given = Given::default();
    while let Some(arg) = parser.next()? {
        match arg {
            Arg::Short('h') | Arg::Long("help") => return Ok(Request::Help),
            Arg::Short('V') | Arg::Long("version") => return Ok(Request::Version),
            Arg::Long("data") => given.data = Some(PathBuf::from(parser.value()?)),
            Arg::Long("journal") => given.journal = Some(PathBuf::from(parser.value()?)),
            Arg::Long("device") => given.device = Some(parse_device(&parser.value()?.string()?)?),
            Arg::Long("limit") => given.limit = Some(parse_limit(&parser.value()?.string()?)?),
            Arg::Value(word) => words.push(word),
            Arg::Short(_) | Arg::Long(_) => return Err(arg.unexpected().into()),
        }
    }
    let mut words = words.into_iter();
    let Some(command) = words.next() else {
        return usage("say what to do: 'lab plan', 'train', 'probe', 'check' or 'fit', and SETUP.toml");
    };
    given.setup = words.next().map(PathBuf::from);
    if let Some(extra) = words.next() {
        return usage(&format!("one setup at a time; '{}' is too much", extra.display()));
    }
    match command.to_str() {
        Some("plan") => given.plan(),
        Some("train") => given.train(),
        Some("probe") => Ok(Request::Probe(given.on_device("probe")?)),
        Some("check") => Ok(Request::Check(given.on_device("check")?)),
        Some("fit") => given.fit(),
        Some("help") => Ok(Request::Help),
        _ => usage(&format!(
            "'{}' is no command; there are 'plan', 'train', 'probe', 'check' and 'fit'",
            command.display()
        )),
    }
}

impl Given {
    fn paths(self) -> Result<Paths, Failure> {
        match self.setup {
            Some(setup) => Ok(Paths { setup, data: self.data }),
            None => usage("name a setup file, such as SETUP.toml"),
        }
    }

    fn plan(self) -> Result<Request, Failure> {
        if self.device.is_some() || self.journal.is_some() || self.limit.is_some() {
            return usage("'plan' trains nothing, so it takes neither --device, --journal nor --limit");
        }
        self.paths().map(Request::Plan)
    }

    fn train(mut self) -> Result<Request, Failure> {
        if self.limit.is_some() {
            return usage("--limit is for 'fit'; a run is held to the setup's memory_limit");
        }
        let journal = self.journal.take();
        Ok(Request::Train(Train {
            subject: self.on_device("train")?,
            journal,
        }))
    }

    fn fit(mut self) -> Result<Request, Failure> {
        let Some(limit) = self.limit.take() else {
            return usage("say how many bytes may be in use, such as --limit 64MiB");
        };
        Ok(Request::Fit(self.on_device("fit")?, limit))
    }

    fn on_device(self, command: &str) -> Result<OnDevice, Failure> {
        if self.journal.is_some() {
            return usage(&format!("'{command}' makes no run, so it has no journal to write"));
        }
        if self.limit.is_some() {
            return usage(&format!("'{command}' takes no --limit; 'fit' does"));
        }
        let device = self.device.unwrap_or(Device::Cpu);
        let paths = self.paths()?;
        Ok(OnDevice { paths, device })
    }
}

fn usage<T>(text: &str) -> Result<T, Failure> {
    Err(Failure::Usage(text.to_owned()))
}

fn parse_limit(text: &str) -> Result<u64, Failure> {
    bytes::parse(text).ok_or_else(|| {
        Failure::Usage(format!(
            "{text:?} is no number of bytes; write one such as 64MiB or 1.5GiB"
        ))
    })
}

fn parse_device(name: &str) -> Result<Device, Failure> {
    match name {
        "cpu" => Ok(Device::Cpu),
        "webgpu" if cfg!(feature = "gpu") => Ok(Device::WebGpu),
        "webgpu" => {
            usage("this build has no WebGPU; build one with 'cargo build --release --features engine,gpu --bin lab'")
        }
        other => usage(&format!("{other:?} is no device; there are 'cpu' and 'webgpu'")),
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
            (train.subject.device, train.journal),
            (Device::Cpu, Some(PathBuf::from("j.jsonl")))
        );
        assert!(matches!(
            of("plan --data d.txt a.toml"),
            Ok(Request::Plan(Paths { data: Some(_), .. }))
        ));
        assert!(matches!(of("--help"), Ok(Request::Help)));
        let Ok(Request::Probe(probe)) = of("probe a.toml --data d.txt") else {
            panic!()
        };
        assert_eq!(
            (probe.device, probe.paths.setup),
            (Device::Cpu, PathBuf::from("a.toml"))
        );
        assert!(probe.paths.data.is_some());
        assert!(matches!(of("check a.toml --device cpu"), Ok(Request::Check(_))));
        assert!(matches!(
            of("fit a.toml --limit 64MiB"),
            Ok(Request::Fit(_, 0x400_0000))
        ));
        assert!(matches!(of("fit --limit=1000 a.toml"), Ok(Request::Fit(_, 1000))));
    }

    #[test]
    fn what_cannot_be_done_says_what_can() {
        for (line, says) in [
            ("", "say what to do"),
            ("trian a.toml", "'plan', 'train', 'probe', 'check' and 'fit'"),
            ("train", "name a setup file"),
            ("probe", "name a setup file"),
            ("train a b", "one setup at a time"),
            ("plan a --journal j", "trains nothing"),
            ("plan a --limit 1MiB", "trains nothing"),
            ("train a --limit 1MiB", "memory_limit"),
            ("train a --device tpu", "'cpu' and 'webgpu'"),
            ("train a --journel j", "--journel"),
            ("train a --journal", "--journal"),
            ("probe a --journal j", "'probe' makes no run"),
            ("check a --limit 1MiB", "'check' takes no --limit"),
            ("fit a", "--limit 64MiB"),
            ("fit a --limit much", "\"much\" is no number of bytes"),
            ("fit a --limit 0", "no number of bytes"),
            ("fit --limit 64MiB", "name a setup file"),
        ] {
            let error = of(line).unwrap_err();
            assert!(error.contains(says), "{line:?}: {error}");
        }
    }

    #[test]
    fn every_command_and_option_is_in_the_help() {
        for word in [
            "plan",
            "train",
            "probe",
            "check",
            "fit",
            "--data",
            "--device",
            "--journal",
            "--limit",
        ] {
            assert!(HELP.contains(word), "{word}");
        }
        assert!(HELP.lines().all(|line| line.chars().count() <= 120));
    }
}

//! `lab`: plan, train, probe, check and fit from a setup file, without a browser.

mod args;
mod bytes;
mod check;
mod device;
mod failure;
mod fit;
mod inputs;
mod plan;
mod probe;
mod train;

use std::{io::Write, process::ExitCode};

use args::Request;
use failure::Failure;
use microbatch_lab::engine::CountingAllocator;

/// The CPU device's tensors are the process's own memory.
#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn main() -> ExitCode {
    let mut out = std::io::stdout().lock();
    let result = args::parse(std::env::args_os()).and_then(|request| match request {
        Request::Help => Ok(write!(out, "{}", args::HELP)?),
        Request::Version => Ok(writeln!(out, "lab {}", env!("CARGO_PKG_VERSION"))?),
        Request::Plan(inputs) => plan::print(&inputs, &mut out),
        Request::Train(train) => train::run(&train, &mut out),
        Request::Probe(subject) => probe::run(&subject, &mut out),
        Request::Check(subject) => check::run(&subject, &mut out),
        Request::Fit(subject, limit) => fit::run(&subject, limit, &mut out),
    });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever reads the output has seen enough.
        Err(Failure::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("lab: {failure}");
            ExitCode::from(failure.code())
        }
    }
}

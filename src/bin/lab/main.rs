//! `lab`: plan and train from a setup file, without a browser.

mod args;
mod failure;
mod inputs;
mod plan;
mod train;

use std::{io::Write, process::ExitCode};

use args::Request;
use failure::Failure;

fn main() -> ExitCode {
    let mut out = std::io::stdout().lock();
    let result = args::parse(std::env::args_os()).and_then(|request| match request {
        Request::Help => Ok(write!(out, "{}", args::HELP)?),
        Request::Version => Ok(writeln!(out, "lab {}", env!("CARGO_PKG_VERSION"))?),
        Request::Plan(inputs) => plan::print(&inputs, &mut out),
        Request::Train(train) => train::run(&train, &mut out),
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

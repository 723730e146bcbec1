//! `cargo xtask`: one door to set-up, build, checks and serving.

use std::process::ExitCode;

use xtask::{bench, build, checks, doctor, finish, install, server, tools};

const USAGE: &str = "\
cargo xtask serve [--port N] [--no-build]   install what is missing, build, serve, print the URL
cargo xtask test [--from STEP]              install what is missing, run every check and test, print the counts
cargo xtask build                           install what is missing, build the site into dist/, report sizes
cargo xtask bench [--peers DIR] [--runs N] [--quick] [--build | --no-build]
                                            build (and stop there), measure beside peers and alone, report in target/bench/
cargo xtask doctor                          say of each tool whether it is there, or how to mend it";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        ["serve", rest @ ..] => serve(rest),
        ["test"] => test(None),
        ["test", "--from", step] => test(Some(step)),
        ["build"] => install::all(tools::FOR_SERVING).and_then(|()| build::build()),
        ["bench", rest @ ..] => bench::Options::of(rest).and_then(|options| bench::run(&options)),
        ["doctor"] => doctor::report(),
        ["finish"] => finish::from_trunk(),
        [] | ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            Ok(())
        }
        _ => Err(format!("do not know `{}`.\n{USAGE}", words.join(" "))),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}

fn serve(words: &[&str]) -> Result<(), String> {
    let mut port = 8080;
    let mut build = true;
    let mut words = words.iter();
    while let Some(&word) = words.next() {
        match word {
            "--no-build" => build = false,
            "--port" => {
                let text = words.next().ok_or("--port needs a number")?;
                port = text
                    .parse()
                    .map_err(|_| format!("--port takes 0 to 65535, not {text:?}"))?;
            }
            _ => return Err(format!("serve does not know {word:?}.\n{USAGE}")),
        }
    }
    if build {
        install::all(tools::FOR_SERVING)?;
        build::build_if_stale()?;
    }
    server::serve_forever(&xtask::dist(), port)
}

fn test(from: Option<&str>) -> Result<(), String> {
    install::all(tools::FOR_TESTING)?;
    checks::run_all(from)
}

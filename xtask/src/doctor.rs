//! `cargo xtask doctor`: what is there, what is not, and how to mend it.

use crate::{
    install::instruction,
    shell,
    tools::{FOR_TESTING, State},
};

/// Prints one line a tool; an error where any is not usable.
pub fn report() -> Result<(), String> {
    let mut broken = 0;
    println!(
        "{:24} {}",
        "rust",
        shell::first_line("rustc", &["--version"]).unwrap_or_else(|| "missing".to_owned())
    );
    for &tool in FOR_TESTING {
        let source = tool.source()?;
        let verdict = match tool.state()? {
            State::Good(version) => format!("ok       {version}"),
            State::Other(version) => {
                broken += 1;
                format!("other    {version}\n{:24} mend it: {}", "", instruction(&source))
            }
            State::Missing => {
                broken += 1;
                format!("missing\n{:24} mend it: {}", "", instruction(&source))
            }
        };
        println!("{:24} {verdict}", tool.name());
    }
    // Not needed to pass; named so that a person knows why a check was not made.
    let deny = shell::first_line("cargo", &["deny", "--version"]);
    println!(
        "{:24} {}",
        "cargo-deny (optional)",
        deny.as_deref()
            .unwrap_or("missing; `cargo install --locked cargo-deny`")
    );
    if broken == 0 {
        println!("all is well");
        Ok(())
    } else {
        Err(format!(
            "{broken} to mend; `cargo xtask serve` and `cargo xtask test` do it where apt is there"
        ))
    }
}

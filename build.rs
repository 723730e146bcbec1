//! Turns `web/locales/*.json` into checked Rust when the page is built; does nothing for any other build.
//!
//! What `leptos_i18n_build` would do, by the same two crates it calls. That crate also brings ICU's data exporter and with it some ninety
//! more crates to compile (a TLS stack among them), which texts without dates, lists and currencies have no use for.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|arch| arch == "wasm32") {
        // For the tool that cuts the page in two, see xtask/src/halves.rs.
        println!("cargo::rustc-link-arg-bin=app=--emit-relocs");
    }
    #[cfg(feature = "ui")]
    if let Err(error) = locales::generate() {
        println!("cargo::error=web/locales: {error}");
    }
}

#[cfg(feature = "ui")]
mod locales {
    use std::{error::Error, fs, path::PathBuf};

    use leptos_i18n_codegen::gen_code;
    use leptos_i18n_parser::parse_locales::{
        options::{Config, ParseOptions},
        parse_locales,
    };

    /// How the generated texts ask for the form that a count takes, and whom they ask instead; see src/ui/plurals.rs.
    const PLURALS: [(&str, &str); 2] = [
        (
            "l_i18n_crate :: __private :: get_plural_rules (* _locale",
            "crate :: ui :: plurals :: rules (* _locale",
        ),
        (
            "Into < l_i18n_crate :: reexports :: icu :: plurals :: PluralOperands >",
            "crate :: ui :: plurals :: Count",
        ),
    ];

    /// The generated module keeps to its own style.
    const ATTRIBUTES: &str = "#![allow(missing_docs, unreachable_pub, unused, unused_lifetimes, clippy::all, clippy::pedantic, clippy::expect_used)]";

    pub(crate) fn generate() -> Result<(), Box<dyn Error>> {
        println!("cargo::rerun-if-changed=web/locales");
        // Texts are wanted as plain strings too: for attributes, and for messages put together from several.
        let options = ParseOptions::default().interpolate_display(true);
        let config = Config::new("en")?
            .add_locale("ru")?
            .locales_path("web/locales")
            .parse_options(options);
        let locales = parse_locales(None, config)?;
        for warning in locales.diag.warnings().iter() {
            println!("cargo::warning={warning}");
        }
        let code = gen_code(&locales, None, false, Some(&ATTRIBUTES.parse()?), false)?;
        let mut code = code.to_string();
        for (asks, answers) in PLURALS {
            if !code.contains(asks) {
                return Err(format!("the generated module does not say `{asks}`").into());
            }
            code = code.replace(asks, answers);
        }
        let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?).join("i18n");
        fs::create_dir_all(&out)?;
        fs::write(out.join("mod.rs"), code)?;
        Ok(())
    }
}

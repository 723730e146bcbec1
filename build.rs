//! Turns `web/locales/*.json` into checked Rust when the page is built; does nothing for any other build.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "ui")]
    if let Err(error) = locales::generate() {
        println!("cargo::error=web/locales: {error}");
    }
}

#[cfg(feature = "ui")]
mod locales {
    use std::{error::Error, path::PathBuf};

    use leptos_i18n_build::{Config, TranslationsInfos, options::CodegenOptions};

    pub(crate) fn generate() -> Result<(), Box<dyn Error>> {
        println!("cargo::rerun-if-changed=web/locales");
        let config = Config::new("en")?.add_locale("ru")?.locales_path("web/locales");
        let translations = TranslationsInfos::parse(config)?;
        translations.emit_diagnostics();
        let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
        let allowed = "#![allow(missing_docs, unreachable_pub, unused, clippy::all, clippy::pedantic, unused_lifetimes)]";
        let options = CodegenOptions::default().gen_docs(false).top_level_attributes(Some(allowed.parse()?));
        translations.generate_i18n_module_with_options(out.join("i18n"), options)?;
        Ok(())
    }
}

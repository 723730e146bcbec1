//! From paths to an experiment and its examples.

use std::{fs, path::Path};

use microbatch_lab::{
    data::{self, Corpus, read_file},
    setup::{Data, Draft, Setup, file, parse::parse},
};

use crate::{args::Paths, failure::Failure};

/// A setup and the examples it asks for.
pub(crate) fn read(paths: &Paths) -> Result<(Setup, Corpus), Failure> {
    let path = &paths.setup;
    let draft = read_draft(path)?;
    let setup = parse(&draft).map_err(|problems| Failure::Fields {
        path: path.clone(),
        problems,
    })?;
    let own = own_text(&setup, paths)?;
    let corpus = data::build(&setup, own.as_deref()).map_err(|error| Failure::Data {
        path: path.clone(),
        error,
    })?;
    Ok((setup, corpus))
}

fn read_draft(path: &Path) -> Result<Draft, Failure> {
    let text = fs::read_to_string(path).map_err(|error| Failure::Read {
        path: path.to_owned(),
        error,
    })?;
    let is_json = path
        .extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
    let draft = if is_json {
        file::from_json(&text)
    } else {
        file::from_toml(&text)
    };
    draft.map_err(|error| Failure::Setup {
        path: path.to_owned(),
        error,
    })
}

fn own_text(setup: &Setup, paths: &Paths) -> Result<Option<String>, Failure> {
    let Data::Own { name, .. } = &setup.data else {
        return match &paths.data {
            None => Ok(None),
            Some(_) => Err(Failure::Usage(
                "--data is for setups whose data is text or jsonl; this one generates its own".to_owned(),
            )),
        };
    };
    let path = match &paths.data {
        Some(path) => path.clone(),
        None if name.is_empty() => {
            return Err(Failure::Usage(
                "this setup learns from a file of your own; name it with --data FILE".to_owned(),
            ));
        }
        None => paths.setup.with_file_name(name),
    };
    let bytes = fs::read(&path).map_err(|error| Failure::Read {
        path: path.clone(),
        error,
    })?;
    read_file(&bytes)
        .map(Some)
        .map_err(|error| Failure::Data { path, error })
}

//! A copy of the built site, for stories in which something of it is missing.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::Trouble;

/// The site in the folder `lab` of a host that has another page at its root. Gives the host and the folder.
pub fn copied(name: &str) -> Result<(PathBuf, PathBuf), Trouble> {
    let host = xtask::root().join("target").join("e2e").join(name);
    let folder = host.join("lab");
    fs::remove_dir_all(&host).ok();
    copy(&xtask::dist(), &folder)?;
    fs::write(host.join("index.html"), "<!doctype html><title>Another page</title>")?;
    Ok((host, folder))
}

fn copy(from: &Path, to: &Path) -> Result<(), Trouble> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// The one thing in `folder` whose name is like this.
pub fn entry(folder: &Path, is: impl Fn(&str) -> bool) -> Result<PathBuf, Trouble> {
    let paths = fs::read_dir(folder)?.filter_map(|entry| Some(entry.ok()?.path()));
    let mut found = paths.filter(|path| path.file_name().is_some_and(|name| is(&name.to_string_lossy())));
    Ok(found.next().ok_or("the site lacks a part")?)
}

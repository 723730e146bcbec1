//! What belongs in the page's second half, told by the names of functions.
//!
//! Whatever the page calls by its own name instead of asking for its `Part` (see `src/ui/later`) comes back into the first half, and
//! nothing that a person or a test sees would tell.

/// All of these is behind folds or at the foot of the page: none of it in the first half, some of it in the second.
const BEHIND: [&str; 4] = [
    "ui::panels::records",
    "ui::panels::compare",
    "ui::panels::past",
    "ui::panels::preflight::row",
];

/// What is wholly built into its caller as long as there is one caller, so that the second half need not name it.
const CALLED_ONCE: [&str; 5] = [
    "ui::panels::probe::__component_probe",
    "ui::panels::preflight::__component_preflight",
    "ui::panels::scaler::__component_scaler",
    "ui::panels::communication::__component_communication",
    "ui::panels::memory::__component_memory",
];

/// Judges the names of both halves as the linker writes them.
pub fn check(first: &[String], second: &[String]) -> Result<(), String> {
    for path in BEHIND.into_iter().chain(CALLED_ONCE) {
        if let Some(name) = find(first, path) {
            return Err(format!(
                "the page's first half has the function {name}, of `{path}`, which is fetched later: something in src/ui names it instead \
                 of asking for its `Part` (src/ui/later)"
            ));
        }
    }
    match BEHIND.into_iter().find(|path| find(second, path).is_none()) {
        Some(path) => Err(format!(
            "the page's second half has no function of `{path}`: it was cut elsewhere, or that code has another name by now \
             (xtask/src/belongs.rs)"
        )),
        None => Ok(()),
    }
}

fn find<'a>(names: &'a [String], path: &str) -> Option<&'a String> {
    let mark = mangled(path);
    names.iter().find(|name| name.contains(&mark))
}

/// `ui::panels` as `2ui6panels`.
fn mangled(path: &str) -> String {
    let parts = path.split("::");
    parts
        .flat_map(|part| [part.len().to_string(), part.to_owned()])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{BEHIND, check, mangled};

    fn named(paths: &[&str]) -> Vec<String> {
        let name = |path: &&str| format!("_ZN14microbatch_lab{}17h0123456789abcdefE", mangled(path));
        paths.iter().map(name).collect()
    }

    #[test]
    fn what_belongs_behind_a_fold_stays_there() {
        let first = named(&[
            "ui::panels::probe::__component_probe_panel",
            "ui::panels::cards::__component_lane_cards",
        ]);
        let second = named(&BEHIND);
        assert_eq!(check(&first, &second), Ok(()));
        for called in [
            "ui::panels::records::__component_records",
            "ui::panels::probe::__component_probe",
        ] {
            let first = [first.clone(), named(&[called])].concat();
            let trouble = check(&first, &second).unwrap_err();
            assert!(
                trouble.contains("first half") && trouble.contains("`Part`"),
                "{trouble}"
            );
        }
    }

    #[test]
    fn names_that_are_no_more_are_noticed() {
        let trouble = check(&[], &named(&BEHIND[1..])).unwrap_err();
        assert!(trouble.contains(BEHIND[0]), "{trouble}");
    }

    #[test]
    fn a_name_is_written_as_the_linker_writes_it() {
        assert_eq!(mangled("ui::panels::records"), "2ui6panels7records");
    }
}
